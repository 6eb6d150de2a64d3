//! `loci timeline`: how much was said when.

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use loci_core::Timestamp;
use loci_engine::timeline::{Clock, Period, PeriodReport, SourceCount, Timeline, TimelineRequest};

use crate::errors::{Done, Exit};
use crate::output::Output;
use crate::page::{Page, counted};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Show how much was said when
///
/// For each day, week, month or year in UTC in which something was said: how many drawers, and the sources with the
/// most of them. Weeks begin on Monday. A timeline that was cut says so: `next` is where it goes on, for --since, or
/// with --newest for --before. Exits with 1 if there is nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci timeline --wing work --by month\n  \
    loci timeline --since 2026-05-01 --before 2026-06-01\n  loci timeline --newest --limit 7 --filed")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,

    /// How long a period is
    #[arg(long, value_name = "PERIOD", default_value = "day")]
    by: By,

    /// Go by when drawers were filed, not by when they were said; so do --since and --before
    #[arg(long)]
    filed: bool,

    /// Latest first
    #[arg(long)]
    newest: bool,

    /// Show this many periods at most
    #[arg(long, short = 'n', value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,

    /// How many sources of each period to name
    #[arg(long, value_name = "N", default_value = "3")]
    sources: usize,
}

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// Shows it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = TimelineRequest {
        scope: args.scope.scope()?,
        by: period(args.by),
        clock: if args.filed { Clock::Filed } else { Clock::Said },
        newest: args.newest,
        limit: args.limit,
        sources: args.sources,
    };
    let mut progress = session.out.progress("looking at drawers");
    let report = session
        .palace()?
        .timeline(&request, &mut |seen| progress.tick(seen, None))?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            report
                .periods
                .iter()
                .for_each(|period| tell(period, args.by, page))
        })?;
        out.flush()?;
        tell_rest(&report, args, out);
    }
    out.flush()?;
    out.warnings(&report.warnings);
    if report.periods.is_empty() && report.warnings.is_empty() {
        out.note("nothing found");
    }
    Ok(Exit::found(!report.periods.is_empty()))
}

fn period(by: By) -> Period {
    match by {
        By::Day => Period::Day,
        By::Week => Period::Week,
        By::Month => Period::Month,
        By::Year => Period::Year,
    }
}

fn tell(period: &PeriodReport, by: By, page: &mut Page) {
    page.bold(&label(period.from, by));
    page.plain(&format!("{:>8}  ", period.drawers));
    let named: Vec<String> = period.sources.iter().map(source).collect();
    page.plain(&named.join(", "));
    match (named.is_empty(), period.more_sources) {
        (_, 0) => {}
        (true, more) => drop(page.dim(&counted(more, "source"))),
        (false, more) => drop(page.dim(&format!(" and {more} more"))),
    }
    page.end();
}

fn source(count: &SourceCount) -> String {
    let name = count.source.as_deref().unwrap_or("without a source");
    format!("{name} ({})", count.drawers)
}

/// A period as people call it.
fn label(from: Timestamp, by: By) -> String {
    let text = from.to_string();
    let day = text.split('T').next().unwrap_or_default();
    let (month, _) = day.rsplit_once('-').unwrap_or_default();
    match by {
        By::Day => day.to_owned(),
        By::Week => format!("week of {day}"),
        By::Month => month.to_owned(),
        By::Year => month.rsplit_once('-').unwrap_or_default().0.to_owned(),
    }
}

/// Says what is not shown, and how to see it.
fn tell_rest(report: &Timeline, args: &Args, out: &mut Output) {
    if let Some(next) = report.next {
        let flag = if args.newest { "--before" } else { "--since" };
        let shown = counted(report.periods.len() as u64, "period");
        out.note(&format!("{shown} shown; there are more: {flag} {next}"));
    }
    let undated = counted(report.undated, "drawer");
    match (report.undated, args.filed) {
        (0, _) => {}
        (_, true) => out.note(&format!("not shown: {undated} without a time of filing")),
        (_, false) => out.note(&format!(
            "not shown: {undated} without a time of saying; --filed goes by when they were filed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_called_as_people_call_them() {
        let check = |by, expect: &str| {
            assert_eq!(label("2026-05-04".parse().unwrap(), by), expect);
        };
        check(By::Day, "2026-05-04");
        check(By::Week, "week of 2026-05-04");
        check(By::Month, "2026-05");
        check(By::Year, "2026");
        assert_eq!(label("-000044-03-15".parse().unwrap(), By::Year), "-000044");
    }
}
