//! Resources: wings, rooms and drawers under their addresses.

use loci_core::{DrawerId, DrawerOrder, Error, ErrorKind, Result, format_count};
use loci_engine::Palace;
use loci_engine::facets::{RoomCount, WingCount};
use loci_engine::list::ListRequest;
use loci_engine::show::ShowRequest;
use loci_engine::view::address::{self, AddressTarget};
use loci_engine::view::{DrawerScope, DrawerView};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::words::{
    QUOTE_NOTICE, append_ending, flatten_text, list_warnings, missing_drawers_error, take_beginning,
};

/// Addresses per page of the list, and drawers shown for a room.
const PAGE_SIZE: usize = 100;
const MOST_DRAWERS: usize = 50;
/// Drawers read at a time in search of those without a wing or room.
const SCAN_PAGE_SIZE: usize = 1_000;
/// Bytes quoted of each drawer of a room.
const QUOTE_BYTES: usize = 160;

/// Lists the address templates.
pub(crate) fn list_templates() -> Vec<ResourceTemplate> {
    [
        ("palace://{wing}", "wing", "The rooms of a wing"),
        ("palace://{wing}/{room}", "room", "The drawers of a room"),
        ("palace://{wing}/{room}/{id}", "drawer", "A drawer, verbatim"),
    ]
    .into_iter()
    .map(|(form, name, about)| {
        ResourceTemplate::new(form, name)
            .with_description(about)
            .with_mime_type("text/plain")
    })
    .collect()
}

/// Lists a page of wings and rooms, with the cursor of the next page.
pub(crate) fn list_resources(
    palace: &Palace,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>)> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| Error::invalid(format!("{cursor:?} is not a cursor")))?,
    };
    let mut wings = match palace.describe_collection() {
        // Clients list resources when they connect, usually before anything was filed; that must not look
        // broken.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), None)),
        read => read?.wings,
    };
    // By name and not by size, so that pages stay stable while drawers are filed.
    wings.sort_by(|one, other| one.wing.cmp(&other.wing));
    let all: Vec<Resource> = wings.into_iter().flat_map(list_wing).collect();
    let total = all.len();
    let page: Vec<Resource> = all.into_iter().skip(from).take(PAGE_SIZE).collect();
    let next = from + page.len();
    Ok((page, (next < total).then(|| next.to_string())))
}

/// Lists a wing and its rooms.
fn list_wing(mut wing: WingCount) -> Vec<Resource> {
    let own = wing.wing.as_deref();
    let name = flatten_text(own.unwrap_or("(no wing)"));
    let mut listed =
        vec![Resource::new(address::format_wing_address(own), name).with_mime_type("text/plain")];
    wing.rooms.sort_by(|one, other| one.room.cmp(&other.room));
    for room in &wing.rooms {
        let names = [own, room.room.as_deref()].map(|name| flatten_text(name.unwrap_or("-")));
        let address = address::format_room_address(own, room.room.as_deref());
        listed.push(
            Resource::new(address, names.join("/"))
                .with_description(format_count(room.drawers, "drawer"))
                .with_mime_type("text/plain"),
        );
    }
    listed
}

/// Reads the resource at an address.
pub(crate) fn read_resource(palace: &Palace, uri: &str) -> Result<ResourceContents> {
    let target = address::parse_address(uri)?;
    let text = match &target {
        AddressTarget::Wing(wing) => read_wing(palace, wing.as_deref())?,
        AddressTarget::Room(wing, room) => read_room(palace, wing.as_deref(), room.as_deref())?,
        AddressTarget::Drawer(id) => read_drawer(palace, DrawerId::new(id.as_str())?)?,
    };
    // A drawer is given as it is; its text must not gain words.
    let text = match target {
        AddressTarget::Drawer(_) => text,
        _ => append_damage(text, palace),
    };
    Ok(ResourceContents::text(text, uri))
}

fn append_damage(mut text: String, palace: &Palace) -> String {
    append_ending(&mut text, &list_warnings(&palace.list_damage()), None);
    text
}

fn read_wing(palace: &Palace, wing: Option<&str>) -> Result<String> {
    // A scope cannot ask for "no wing", so drawers without one are only counted.
    let Some(name) = wing else {
        let wings = palace.describe_collection()?.wings;
        let lost = wings.into_iter().find(|wing| wing.wing.is_none());
        let lost = lost.map_or(0, |wing| wing.drawers);
        return Ok(format!("{} without a wing", format_count(lost, "drawer")));
    };
    let report = palace.list_wings(&DrawerScope {
        wing: Some(name.to_owned()),
        ..DrawerScope::default()
    })?;
    if report.wings.is_empty() {
        return Err(
            Error::new(ErrorKind::NotFound, format!("wing {name:?} does not exist"))
                .with_hint("the tool `wings` lists them"),
        );
    }
    let line = |room: RoomCount| {
        let address = address::format_room_address(wing, room.room.as_deref());
        format!("{address} {}", format_count(room.drawers, "drawer"))
    };
    let rooms = report.wings.into_iter().flat_map(|wing| wing.rooms);
    Ok(rooms.map(line).collect::<Vec<_>>().join("\n"))
}

fn read_room(palace: &Palace, wing: Option<&str>, room: Option<&str>) -> Result<String> {
    let wings = palace.describe_collection()?.wings;
    let own = wings.iter().find(|own| own.wing.as_deref() == wing);
    let own = own.and_then(|own| own.rooms.iter().find(|own| own.room.as_deref() == room));
    let Some(count) = own else {
        let message = format!(
            "room {}/{} does not exist",
            wing.unwrap_or("-"),
            room.unwrap_or("-")
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    // A resource has no argument for a token budget, so fixed bounds keep the text short.
    let mut text = format!("{QUOTE_NOTICE} {}.", format_count(count.drawers, "drawer"));
    for drawer in first_drawers(palace, wing, room)? {
        let part = take_beginning(drawer.whole_text(), QUOTE_BYTES);
        text.push_str(&format!(
            "\n{} \"{}\"",
            address::format_drawer_address(&drawer),
            flatten_text(part)
        ));
    }
    if count.drawers > MOST_DRAWERS as u64 {
        text.push_str("\nThe rest: the tool `list`.");
    }
    Ok(text)
}

/// Returns the first drawers of a room. A scope cannot ask for drawers without a wing or room; those are
/// picked out page by page.
fn first_drawers(palace: &Palace, wing: Option<&str>, room: Option<&str>) -> Result<Vec<DrawerView>> {
    let mut request = ListRequest {
        scope: DrawerScope {
            wing: wing.map(str::to_owned),
            room: room.map(str::to_owned),
            ..DrawerScope::default()
        },
        order: DrawerOrder::Id,
        cursor: None,
        limit: if wing.and(room).is_some() {
            MOST_DRAWERS
        } else {
            SCAN_PAGE_SIZE
        },
        embeddings: false,
        total: false,
    };
    let mut here = Vec::new();
    loop {
        let page = palace.list(&request)?;
        // Also drops drawers of other rooms where the scope could not name this one.
        let is_here = |drawer: &DrawerView| drawer.wing.as_deref() == wing && drawer.room.as_deref() == room;
        here.extend(page.drawers.into_iter().filter(is_here));
        request.cursor = page.next;
        if here.len() >= MOST_DRAWERS || request.cursor.is_none() {
            here.truncate(MOST_DRAWERS);
            return Ok(here);
        }
    }
}

fn read_drawer(palace: &Palace, id: DrawerId) -> Result<String> {
    let mut report = palace.show(&ShowRequest {
        ids: vec![id.clone()],
        embeddings: false,
    })?;
    let found = report.drawers.pop().ok_or_else(|| missing_drawers_error(&[id]))?;
    Ok(found.text.unwrap_or_default())
}
