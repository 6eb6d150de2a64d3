//! `loci timeline`: the number of drawers over time.

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use loci_core::Timestamp;
use loci_engine::timeline::{
    CalendarPeriod, PeriodReport, SourceCount, TimelineClock, TimelineReport, TimelineRequest,
};

use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::page::{TextPage, format_count};
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// Show the number of drawers per day, week, month or year
///
/// Each period (in UTC; weeks start on Monday) lists the sources with the most drawers. If there are more periods, `next`
/// is the time to continue from, with --since, or with --before for --newest. Exits with 1 if nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci timeline --wing work --by month\n  \
    loci timeline --since 2026-05-01 --before 2026-06-01\n  loci timeline --newest --limit 7 --filed")]
pub(crate) struct TimelineArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The length of a period
    #[arg(long, value_name = "PERIOD", default_value = "day")]
    by: TimelineStep,

    /// Use the time drawers were filed instead of the time they were said, also for --since and --before
    #[arg(long)]
    filed: bool,

    /// Show the newest first
    #[arg(long)]
    newest: bool,

    /// Show at most N periods
    #[arg(long, short = 'n', value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,

    /// Name up to N sources per period
    #[arg(long, value_name = "N", default_value = "3")]
    sources: usize,
}

/// The length of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimelineStep {
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// Shows the timeline.
pub(crate) fn run(args: &TimelineArgs, session: &mut CommandSession) -> CommandResult {
    let request = TimelineRequest {
        scope: args.scope.build_scope()?,
        by: to_period(args.by),
        clock: if args.filed {
            TimelineClock::Filed
        } else {
            TimelineClock::Said
        },
        newest: args.newest,
        limit: args.limit,
        sources: args.sources,
    };
    let mut progress = session.out.progress("looking at drawers");
    let report = session
        .open_palace()?
        .count_timeline(&request, &mut |seen| progress.tick(seen, None))?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            report
                .periods
                .iter()
                .for_each(|period| write_period(period, args.by, page))
        })?;
        out.flush()?;
        tell_rest(&report, args, out);
    }
    out.flush()?;
    out.warnings(&report.warnings);
    if report.periods.is_empty() && report.warnings.is_empty() {
        out.note("nothing found");
    }
    Ok(ExitStatus::from_found(!report.periods.is_empty()))
}

fn to_period(by: TimelineStep) -> CalendarPeriod {
    match by {
        TimelineStep::Day => CalendarPeriod::Day,
        TimelineStep::Week => CalendarPeriod::Week,
        TimelineStep::Month => CalendarPeriod::Month,
        TimelineStep::Year => CalendarPeriod::Year,
    }
}

fn write_period(period: &PeriodReport, by: TimelineStep, page: &mut TextPage) {
    page.bold(&name_period(period.from, by));
    page.plain(&format!("{:>8}  ", period.drawers));
    let named: Vec<String> = period.sources.iter().map(format_source).collect();
    page.plain(&named.join(", "));
    match (named.is_empty(), period.more_sources) {
        (_, 0) => {}
        (true, more) => drop(page.dim(&format_count(more, "source"))),
        (false, more) => drop(page.dim(&format!(" and {more} more"))),
    }
    page.end();
}

fn format_source(count: &SourceCount) -> String {
    let name = count.source.as_deref().unwrap_or("without a source");
    format!("{name} ({})", count.drawers)
}

/// The name of a period.
fn name_period(from: Timestamp, by: TimelineStep) -> String {
    let text = from.to_string();
    let day = text.split('T').next().unwrap_or_default();
    let (month, _) = day.rsplit_once('-').unwrap_or_default();
    match by {
        TimelineStep::Day => day.to_owned(),
        TimelineStep::Week => format!("week of {day}"),
        TimelineStep::Month => month.to_owned(),
        TimelineStep::Year => month.rsplit_once('-').unwrap_or_default().0.to_owned(),
    }
}

/// Notes the periods and drawers that are not shown.
fn tell_rest(report: &TimelineReport, args: &TimelineArgs, out: &mut TerminalOutput) {
    if let Some(next) = report.next {
        let flag = if args.newest { "--before" } else { "--since" };
        let shown = format_count(report.periods.len() as u64, "period");
        out.note(&format!("{shown} shown; continue with {flag} {next}"));
    }
    let undated = format_count(report.undated, "drawer");
    match (report.undated, args.filed) {
        (0, _) => {}
        (_, true) => out.note(&format!("not shown: {undated} without a filing time")),
        (_, false) => out.note(&format!(
            "not shown: {undated} without a time; --filed uses the time they were filed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_called_as_people_call_them() {
        let check = |by, expect: &str| {
            assert_eq!(name_period("2026-05-04".parse().unwrap(), by), expect);
        };
        check(TimelineStep::Day, "2026-05-04");
        check(TimelineStep::Week, "week of 2026-05-04");
        check(TimelineStep::Month, "2026-05");
        check(TimelineStep::Year, "2026");
        assert_eq!(
            name_period("-000044-03-15".parse().unwrap(), TimelineStep::Year),
            "-000044"
        );
    }
}
