//! Resources: wings, rooms and drawers under their addresses.

use loci_core::{Collection, DrawerId, Error, ErrorKind, Facets, Filter, Get, Include, Result};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::address::{self, Address};
use super::shown::{QUOTED, Shown, beginning, flat};
use super::tools::wings::{rooms, wings};
use crate::house::House;

/// How many addresses one page of the list has, and how many drawers the page of a room names.
const PAGE: usize = 100;
const DRAWERS: usize = 50;
/// How much of each drawer the page of a room quotes, in bytes.
const QUOTE: usize = 160;

/// The forms addresses have.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
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

/// A page of the wings and rooms, and where the next begins.
pub(crate) fn list(house: &House, cursor: Option<&str>) -> Result<(Vec<Resource>, Option<String>)> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| Error::invalid(format!("{cursor:?} is no cursor")))?,
    };
    let collection = match house.read() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), None)),
        opened => opened?,
    };
    let mut all = Vec::new();
    let mut last = None;
    for facet in collection.facets(&Facets::by_room())? {
        let mut values = facet.values.into_iter();
        let (wing, room) = (values.next().flatten(), values.next().flatten());
        if last.as_ref() != Some(&wing) {
            let name = flat(wing.as_deref().unwrap_or("(no wing)"));
            all.push(Resource::new(address::of_wing(wing.as_deref()), name).with_mime_type("text/plain"));
            last = Some(wing.clone());
        }
        let name = format!(
            "{}/{}",
            flat(wing.as_deref().unwrap_or("-")),
            flat(room.as_deref().unwrap_or("-"))
        );
        let about = format!("{} drawers", facet.drawers);
        all.push(
            Resource::new(address::of_room(wing.as_deref(), room.as_deref()), name)
                .with_description(about)
                .with_mime_type("text/plain"),
        );
    }
    let total = all.len();
    let page: Vec<Resource> = all.into_iter().skip(from).take(PAGE).collect();
    let next = from + page.len();
    Ok((page, (next < total).then(|| next.to_string())))
}

/// What stands at an address.
pub(crate) fn read(house: &House, uri: &str) -> Result<ResourceContents> {
    let address = address::read(uri)?;
    let collection = house.read()?;
    let collection = collection.as_ref();
    let text = match address {
        Address::Wing(wing) => of_wing(collection, wing)?,
        Address::Room(wing, room) => of_room(collection, wing.as_deref(), room.as_deref())?,
        Address::Drawer(id) => {
            let id = DrawerId::new(id)?;
            let found = collection.get(&Get::ids([id.clone()]))?.pop();
            let drawer = found.ok_or_else(|| super::receipt::missing(&[id]))?;
            drawer.document.unwrap_or_default()
        }
    };
    Ok(ResourceContents::text(text, uri))
}

fn of_wing(collection: &dyn Collection, wing: Option<String>) -> Result<String> {
    let rooms = match &wing {
        Some(wing) => rooms(collection, wing)?,
        None => Vec::new(),
    };
    if wing.is_none() {
        let lost = wings(collection)?.into_iter().find(|wing| wing.wing.is_none());
        let lost = lost.map_or(0, |wing| wing.drawers);
        return Ok(format!("{lost} drawers are in no wing"));
    }
    let line = |room: super::tools::wings::Room| {
        let address = address::of_room(wing.as_deref(), room.room.as_deref());
        format!("{address} {} drawers", room.drawers)
    };
    Ok(rooms.into_iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn of_room(collection: &dyn Collection, wing: Option<&str>, room: Option<&str>) -> Result<String> {
    let wanted = [wing, room];
    let facets = collection.facets(&Facets::by_room())?;
    let is_it = |values: &[Option<String>]| values.iter().map(Option::as_deref).eq(wanted);
    let Some(facet) = facets.iter().find(|facet| is_it(&facet.values)) else {
        let message = format!("there is no room {}/{}", wing.unwrap_or("-"), room.unwrap_or("-"));
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    let mut filter = Filter::All;
    for (key, name) in [("wing", wing), ("room", room)] {
        if let Some(name) = name {
            filter = filter.and(Filter::text(key, name));
        }
    }
    // Drawers without a name for their wing or room cannot be asked for; they are picked out.
    let places = collection.get(&Get {
        filter,
        include: Include::NOTHING,
        limit: wing.and(room).map(|_| DRAWERS),
        ..Get::default()
    })?;
    let here = places
        .into_iter()
        .filter(|drawer| [drawer.place.wing.as_deref(), drawer.place.room.as_deref()] == wanted)
        .take(DRAWERS);
    let here = collection.get(&Get::ids(here.map(|drawer| drawer.id)))?;
    let mut text = format!("{QUOTED} {} drawers.", facet.drawers);
    for drawer in &here {
        let shown = Shown::of(
            drawer,
            beginning(drawer.document.as_deref().unwrap_or_default(), QUOTE),
        );
        text.push_str(&format!("\n{} \"{}\"", shown.address, flat(&shown.text)));
    }
    if facet.drawers > DRAWERS as u64 {
        text.push_str("\nThe rest: the tool `list`.");
    }
    Ok(text)
}
