//! Acts: every form is read from its page and sent back as a browser would.

mod adding;
mod editing;
mod exporting;
mod forgetting;
mod moving;
mod refusing;
mod removing;
mod undoing;

use loci_core::{Drawer, DrawerFields, DrawerId, GetRequest, OpenOptions};
use loci_web::{PageFields, PageReply, PageRequest, Visit};

use crate::scene::{SiteScene, body_text};

/// A form of a page as a browser holds it: its hidden fields, boxes and texts, in order.
#[derive(Debug, Clone)]
pub(crate) struct BrowserForm {
    action: String,
    fields: Vec<(String, String)>,
}

impl BrowserForm {
    /// Finds the form of a page that acts at `action`.
    #[track_caller]
    pub(crate) fn find(html: &str, action: &str) -> Self {
        let found = Self::find_all(html, action).pop();
        assert!(found.is_some(), "no form for {action}: {html}");
        found.unwrap()
    }

    pub(crate) fn find_all(html: &str, action: &str) -> Vec<Self> {
        let named = format!(" action=\"{action}\"");
        let forms = html
            .split("<form")
            .skip(1)
            .filter_map(|form| form.split("</form>").next());
        forms
            .filter(|form| form.split('>').next().unwrap().contains(&named))
            .map(|form| Self {
                action: action.to_owned(),
                fields: read_fields(form),
            })
            .collect()
    }

    pub(crate) fn value(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| field == name);
        assert!(found.is_some(), "no field {name}: {self:?}");
        &found.unwrap().1
    }

    /// Types into a box.
    pub(crate) fn typing(mut self, name: &str, value: &str) -> Self {
        let found = self.fields.iter_mut().find(|(field, _)| field == name);
        assert!(found.is_some(), "no box {name}");
        found.unwrap().1 = value.to_owned();
        self
    }

    /// Presses its button.
    pub(crate) fn send(&self, scene: &SiteScene) -> PageReply {
        self.send_as(scene, &scene.visit)
    }

    pub(crate) fn send_as(&self, scene: &SiteScene, visit: &Visit) -> PageReply {
        let sent = self.fields.iter().map(|(name, value)| {
            // Browsers send every line break as two characters.
            (name.as_str(), value.replace("\r\n", "\n").replace('\n', "\r\n"))
        });
        let sent: Vec<(&str, String)> = sent.collect();
        let form: PageFields = sent.iter().map(|(name, value)| (*name, value.as_str())).collect();
        scene.site.answer(&PageRequest::post(&self.action, form), visit)
    }
}

fn read_fields(form: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for tag in form.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        let attribute = |name: &str| {
            Some(unescape(
                tag.split_once(&format!(" {name}=\""))?.1.split('"').next()?,
            ))
        };
        let Some(name) = attribute("name") else { continue };
        if tag.starts_with("textarea") {
            // A browser drops the first line break.
            let text = text.strip_prefix('\n').unwrap_or(text);
            fields.push((name, unescape(text).replace('\0', "\u{fffd}")));
        } else if tag.starts_with("input") && !tag.contains("checkbox") {
            fields.push((name, attribute("value").unwrap_or_default()));
        }
    }
    fields
}

fn unescape(html: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    signs.iter().fold(html.to_owned(), |text, (escaped, sign)| {
        text.replace(escaped, sign)
    })
}

impl SiteScene {
    /// Opens a page and returns its form for `action`.
    #[track_caller]
    pub(crate) fn form(&self, target: &str, action: &str) -> BrowserForm {
        BrowserForm::find(&self.html(target), action)
    }

    /// Follows a redirect and returns the page.
    #[track_caller]
    pub(crate) fn follow(&self, reply: PageReply) -> String {
        let (status, location) = (reply.status, reply.location.clone());
        let body = body_text(reply);
        assert_eq!(status, 303, "{body}");
        self.html(&location.unwrap())
    }

    /// Undoes the last act and returns the page that follows.
    #[track_caller]
    pub(crate) fn undo(&self) -> String {
        self.follow(self.post("/undo", &[("back", "/list")]))
    }

    /// Returns every drawer as it is stored.
    pub(crate) fn drawers(&self) -> Vec<Drawer> {
        let collection = self.palace.open(&OpenOptions::default()).unwrap();
        let all = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        collection.get(&all).unwrap()
    }

    /// Returns one drawer as it is stored.
    #[track_caller]
    pub(crate) fn stored(&self, id: &str) -> Drawer {
        let id = DrawerId::new(id).unwrap();
        self.drawers().into_iter().find(|drawer| drawer.id == id).unwrap()
    }

    /// Mines one file of three long paragraphs, and returns the id of the second one's drawer.
    pub(crate) fn mine_paragraphs(&self) -> String {
        let folder = self.folder.path().join("notes");
        std::fs::create_dir_all(&folder).unwrap();
        let paragraph = |word: &str| {
            format!(
                "# {word}\n\n{}\n\n",
                format!("The {word} stands here. ").repeat(60)
            )
        };
        let text = ["door", "window", "roof"].map(paragraph).concat();
        std::fs::write(folder.join("house.md"), text).unwrap();
        let request = loci_engine::MineRequest::for_paths([folder]);
        self.palace.mine(&request, &mut |_| {}).unwrap();
        let holds = |drawer: &Drawer| drawer.document.as_ref().unwrap().contains("window");
        self.drawers().into_iter().find(holds).unwrap().id.to_string()
    }
}

/// Four drawers: three in the garden, one in the house.
pub(crate) fn garden() -> SiteScene {
    let scene = SiteScene::new();
    for (id, wing, text) in [
        ("bean-1", "garden", "Runner beans go in after the last frost."),
        ("bean-2", "garden", "Beans climb on hazel sticks."),
        ("pea-1", "garden", "Peas go in earlier."),
        ("roof-1", "house", "The roof was mended."),
    ] {
        scene.add_with(id, wing, text, |drawer| drawer.place.room = Some("plants".into()));
    }
    scene
}
