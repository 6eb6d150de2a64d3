//! The reads of a collection or a moment in a plug-in.

use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    BackendDescriptor, CollectionInfo, Drawer, DrawerCondition, DrawerHit, FacetCount, FacetRequest,
    GetRequest, LexicalRequest, Metric, QueryRequest, Result,
};
use serde::de::DeserializeOwned;

use super::checks::{check_facets, check_get, check_lexical, check_query};
use super::link::{PluginLink, ValueListener};
use super::process::PluginProcess;
use super::talk::{AnswerListener, CallPlan};
use crate::frame::{BlobReader, split_body};
use crate::wire::WireResult;
use crate::wire::answer::{RowsAnswer, WireFacet, WireInfo};
use crate::wire::call::{HandleNumber, WireCall};
use crate::wire::drawer::{WireDrawer, WireHit};
use crate::wire::filter::WireCondition;
use crate::wire::request::{WireGet, WireLexical, WireQuery};

/// A handle that lives in a plug-in.
pub(super) trait RemoteHandle {
    fn link(&self) -> &PluginLink;

    /// Refuses calls after a close.
    fn check_handle(&self) -> Result<()>;

    /// Returns a process and the number of this handle in it.
    fn resolve(&self) -> Result<(Arc<PluginProcess>, HandleNumber)>;

    /// Returns whether a new process can stand in for one that died.
    fn survives(&self) -> bool;

    fn metric(&self) -> Metric;

    fn descriptor(&self) -> &BackendDescriptor {
        &self.link().descriptor
    }

    /// Returns the plan of a read, within its budget if it has one.
    fn read_plan(&self, name: &'static str, budget: Option<Duration>) -> CallPlan {
        let options = &self.link().options;
        CallPlan {
            name,
            repeats: self.survives(),
            writes: false,
            reports: false,
            time: budget.map_or(options.call_time, |budget| budget.saturating_add(options.grace)),
        }
    }

    /// Returns the plan of a write that must not be made twice.
    fn write_plan(&self, name: &'static str) -> CallPlan {
        CallPlan {
            repeats: false,
            writes: true,
            ..self.read_plan(name, None)
        }
    }
}

/// Makes a call on a handle and hands its answer to `listener`. `make` returns the call and its blob.
pub(super) fn call_handle(
    handle: &dyn RemoteHandle,
    plan: &CallPlan,
    make: &dyn Fn(HandleNumber) -> (WireCall<'static>, Vec<u8>),
    listener: &mut dyn AnswerListener,
) -> Result<()> {
    let mut encode = || {
        let (process, number) = handle.resolve()?;
        let (call, blob) = make(number);
        let bytes = handle.link().encode_call(&process, plan, call, &blob)?;
        Ok((process, bytes))
    };
    handle.link().call(plan, &mut encode, listener)
}

/// Makes a call that answers with one value.
pub(super) fn ask_value<T: DeserializeOwned>(
    handle: &dyn RemoteHandle,
    plan: &CallPlan,
    make: impl Fn(HandleNumber) -> WireCall<'static>,
) -> Result<T> {
    let mut answer = ValueListener(None);
    call_handle(handle, plan, &|number| (make(number), Vec::new()), &mut answer)?;
    answer.into_value(handle.link().name())
}

/// Takes the rows of one frame.
pub(super) fn take_rows<R: DeserializeOwned, T>(
    body: &[u8],
    rows: &mut Vec<T>,
    read: &impl Fn(R, &mut BlobReader<'_>) -> WireResult<T>,
) -> WireResult<()> {
    let (answer, mut blob) = split_body::<RowsAnswer<R>>(body)?;
    rows.reserve(answer.rows.len());
    for row in answer.rows {
        rows.push(read(row, &mut blob)?);
    }
    blob.check_end()
}

/// Makes a call that answers with rows.
pub(super) fn ask_rows<R: DeserializeOwned, T>(
    handle: &dyn RemoteHandle,
    plan: &CallPlan,
    make: impl Fn(HandleNumber) -> (WireCall<'static>, Vec<u8>),
    read: impl Fn(R, &mut BlobReader<'_>) -> WireResult<T>,
) -> Result<Vec<T>> {
    let mut answer = TypedRows {
        rows: Vec::new(),
        read,
        form: std::marker::PhantomData,
    };
    call_handle(handle, plan, &make, &mut answer)?;
    Ok(answer.rows)
}

struct TypedRows<R, T, F> {
    rows: Vec<T>,
    read: F,
    form: std::marker::PhantomData<fn(R)>,
}

impl<R: DeserializeOwned, T, F: Fn(R, &mut BlobReader<'_>) -> WireResult<T>> AnswerListener
    for TypedRows<R, T, F>
{
    fn start_over(&mut self) {
        self.rows.clear();
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        take_rows(body, &mut self.rows, &self.read)
    }
}

pub(super) fn get(handle: &dyn RemoteHandle, request: &GetRequest) -> Result<Vec<Drawer>> {
    handle.check_handle()?;
    check_get(handle.descriptor(), request)?;
    let plan = handle.read_plan("get", request.budget);
    let make = |number| {
        let request = WireGet::new(request);
        (
            WireCall::Get {
                handle: number,
                request,
            },
            Vec::new(),
        )
    };
    ask_rows(handle, &plan, make, |row: WireDrawer<'static>, blob| {
        row.into_drawer(blob)
    })
}

pub(super) fn query(handle: &dyn RemoteHandle, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
    handle.check_handle()?;
    check_query(handle.descriptor(), request, handle.metric())?;
    let plan = handle.read_plan("query", request.budget);
    let make = |number| {
        let mut blob = Vec::new();
        let request = WireQuery::new(request, &mut blob);
        (
            WireCall::Query {
                handle: number,
                request,
            },
            blob,
        )
    };
    ask_hits(handle, &plan, make, request.vectors.len())
}

pub(super) fn lexical(handle: &dyn RemoteHandle, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
    handle.check_handle()?;
    check_lexical(handle.descriptor(), request)?;
    let plan = handle.read_plan("lexical", request.budget);
    let make = |number| {
        let request = WireLexical::new(request);
        (
            WireCall::Lexical {
                handle: number,
                request,
            },
            Vec::new(),
        )
    };
    Ok(ask_hits(handle, &plan, make, 1)?.pop().unwrap_or_default())
}

/// Makes a call that answers with hits in `count` lists.
fn ask_hits(
    handle: &dyn RemoteHandle,
    plan: &CallPlan,
    make: impl Fn(HandleNumber) -> (WireCall<'static>, Vec<u8>),
    count: usize,
) -> Result<Vec<Vec<DrawerHit>>> {
    let read = |row: WireHit<'static>, blob: &mut BlobReader<'_>| {
        let (list, hit) = row.into_hit(blob)?;
        if list >= count {
            return Err(format!("a hit belongs to list {list} of {count}"));
        }
        Ok((list, hit))
    };
    let mut lists = vec![Vec::new(); count];
    for (list, hit) in ask_rows(handle, plan, make, read)? {
        if let Some(list) = lists.get_mut(list) {
            list.push(hit);
        }
    }
    Ok(lists)
}

pub(super) fn count(handle: &dyn RemoteHandle, condition: &DrawerCondition) -> Result<u64> {
    handle.check_handle()?;
    handle.descriptor().check_filter(&condition.filter)?;
    ask_value(handle, &handle.read_plan("count", None), |number| {
        WireCall::Count {
            handle: number,
            request: WireCondition::new(&condition.filter, &condition.document),
        }
    })
}

pub(super) fn facets(handle: &dyn RemoteHandle, request: &FacetRequest) -> Result<Vec<FacetCount>> {
    handle.check_handle()?;
    check_facets(handle.descriptor(), request)?;
    let make = |number| {
        let call = WireCall::Facets {
            handle: number,
            by: request.by.clone(),
            request: WireCondition::new(&request.filter, &request.document),
        };
        (call, Vec::new())
    };
    let plan = handle.read_plan("facets", None);
    ask_rows(handle, &plan, make, |row: WireFacet, _| Ok(row.into()))
}

pub(super) fn info(handle: &dyn RemoteHandle) -> Result<CollectionInfo> {
    handle.check_handle()?;
    let plan = handle.read_plan("info", None);
    let info: WireInfo = ask_value(handle, &plan, |number| WireCall::Info { handle: number })?;
    Ok(info.into())
}
