//! A sentence whose vector is known: weights that give another vector are damaged or of another model.

use std::path::Path;

use loci_core::{Error, ErrorKind, Result};

use super::batch;
use super::weights::{INSTALL, ModelWeights};
use crate::wordpiece;

/// The sentence to embed.
const SENTENCE: &str = "The harbour master keeps a blue notebook with the names of every ship since 1911.";

/// The least cosine between the computed vector and the known one.
const NEAR: f64 = 0.999;

/// The vector that the original library gives the sentence, in twenty-thousandths; `scripts/fixtures/minilm.py` made it.
#[rustfmt::skip]
const VECTOR: [i16; 384] = [
    -2146, 30, 569, 440, -49, 1274, -636, -669, -861, -522, 315, 1673, 1110, -23, -1869, 1435, -89, -1147,
    1121, -163, -1190, 1091, 110, -461, -879, 329, -72, -702, -721, 256, -1261, 256, 337, 968, 2108, -1283,
    -540, 965, 580, -1577, -1120, -586, 598, 2116, -126, -351, -226, -291, 305, 1460, 189, -330, -128, 105,
    1475, 934, -326, -919, 464, 892, -891, 2127, -1585, -295, 735, 1585, -442, 1666, -507, -280, 1024, 565,
    1597, 849, -142, -632, 97, -344, -1143, -247, -2763, -951, -245, 1502, -80, -162, 148, -450, -740, 654,
    -589, -2365, 653, -950, -1038, -7, -870, 1532, 993, -277, 585, 1226, 1626, -963, -312, -225, -136, -827,
    1384, -1687, 294, 323, -905, -201, -1178, -370, -751, -290, 87, 138, 1027, -1129, 526, -353, -3156,
    1637, 527, 0, 313, -48, -229, 1896, 1443, -218, 311, -265, -315, 94, -240, 1196, -1711, -747, -442,
    -946, -226, 243, 53, -313, -42, 700, 95, -1977, 1852, 665, -176, 594, 1430, 1418, 881, 1225, -728, -838,
    73, -31, 83, -2012, -480, -753, -1065, 90, -1596, 2210, -251, -408, 352, 474, 2891, 454, -1130, -1867,
    -1959, -430, -314, -932, 793, 1209, 778, -280, 382, -139, 429, 2032, 2520, 2021, 836, -380, -1220, -551,
    -962, 225, 564, -2038, 746, 66, 254, -528, -1850, -668, -1912, 691, -566, 1698, -348, 826, 811, 71, 817,
    -947, 268, -797, 872, -357, -3255, 0, -729, -1366, -1316, -344, -648, -1537, 888, 1136, -1061, -423, -5,
    1341, -358, 552, 266, 2045, 1492, 740, -1277, -631, -222, -1048, 145, 670, 598, 1346, -18, -1700, -71,
    -531, -537, 1979, 672, 1373, -1342, 5, 1499, 1120, -586, 2167, -1052, 141, -808, 253, -2287, -366,
    -1140, 233, 444, 853, -822, -1731, -209, -2106, -719, 761, -721, 518, 667, 1321, 720, 778, -1053, 2095,
    -1292, -35, 25, 867, -2330, 263, 323, -601, -1531, 953, -768, 689, -207, -872, -2361, 1520, 472, 380,
    -286, 1128, -1128, -1084, 748, 509, 328, -1623, 694, -306, -388, 253, -630, 0, -416, -290, 864, 795,
    270, -705, 1393, 1010, 292, 398, 371, -1889, -1774, -1501, 453, -180, 918, -3, -744, 58, 110, 222, 1254,
    -269, -1457, 1112, -334, -428, 1681, 1568, 813, 677, 114, 860, -412, 573, 169, 527, 115, 1042, -1177,
    61, -1377, 957, 1753, 1710, 433, -240, 238, -133, 362, -453, 1258, 1249, -361, 436, 758, 662, 1497,
    -926, -353, 1325, 461, 1620,
];

/// Refuses weights that do not give the known vector; the error names their folder.
pub(super) fn check_weights(weights: &ModelWeights, folder: &Path) -> Result<()> {
    let mut ids = Vec::new();
    wordpiece::encode(SENTENCE, &mut ids);
    let vector = batch::embed_texts(weights, &[&ids], 1).pop().unwrap_or_default();
    let near = cosine_to_known(&vector);
    // A cosine of NaN fails the comparison too.
    if vector.len() == VECTOR.len() && near >= NEAR {
        return Ok(());
    }
    let message = format!(
        "the model in {} gives wrong vectors: a known sentence has a similarity of {near:.4} instead of 1",
        folder.display()
    );
    Err(Error::new(ErrorKind::Corrupt, message).with_hint(INSTALL))
}

fn cosine_to_known(vector: &[f32]) -> f64 {
    let (mut product, mut ours, mut theirs) = (0.0, 0.0, 0.0);
    for (value, known) in vector.iter().zip(VECTOR) {
        let (value, known) = (f64::from(*value), f64::from(known));
        product += value * known;
        ours += value * value;
        theirs += known * known;
    }
    product / f64::sqrt(ours * theirs)
}
