//! Cases of queries and their mentions, asked on Wednesday 2024-05-15.
//!
//! A line is a query with the words of each mention in brackets, then each mention's days: after `=` where it is
//! named, after `~` where the words only lean, without an end where it has none.

mod recurring;

use loci_core::Timestamp;

use super::{TimeExactness, TimeMention, find_mentions};

const NOW: &str = "2024-05-15T16:20:00Z";

fn check(lines: &str) {
    check_at(NOW, lines);
}

fn check_at(now: &str, lines: &str) {
    for line in lines.lines().map(str::trim) {
        let query = line
            .split(['=', '~'])
            .next()
            .unwrap()
            .trim_end()
            .replace(['[', ']'], "");
        assert_eq!(written(&query, now.parse().unwrap()), line);
    }
}

fn written(query: &str, now: Timestamp) -> String {
    let found = find_mentions(query, now);
    let mut line = query.to_string();
    for TimeMention { words, .. } in found.iter().rev() {
        line.insert(words.end, ']');
        line.insert(words.start, '[');
    }
    for mention in &found {
        let sign = match mention.exact {
            TimeExactness::Named => '=',
            TimeExactness::About => '~',
        };
        let (from, before) = (day(mention.from, "0001"), day(mention.before, "9999"));
        line.push_str(&format!(" {sign} {from}..{before}"));
    }
    line
}

fn day(time: Timestamp, open: &str) -> String {
    let written = time.to_string().replace("T00:00:00Z", "");
    if written == format!("{open}-01-01") {
        String::new()
    } else {
        written
    }
}

#[test]
fn written_dates_are_themselves() {
    check(
        "log [of 2023-05-07]? = 2023-05-07..2023-05-08
         [2023/05/07] standup = 2023-05-07..2023-05-08
         [on 2023-5-7] = 2023-05-07..2023-05-08
         decided [in 2023-05] = 2023-05-01..2023-06-01
         [at 2024-02-29T23:10:00Z]. = 2024-02-29..2024-03-01
         Berlin [on 7 May 2023] = 2023-05-07..2023-05-08
         [May 7th, 2023]: notes = 2023-05-07..2023-05-08
         [may 7 2023] notes = 2023-05-07..2023-05-08
         [the 7th of May 2023] = 2023-05-07..2023-05-08
         [Dec. 7, 2023] = 2023-12-07..2023-12-08
         what we said [May 2023] = 2023-05-01..2023-06-01
         [in march of 2023] we = 2023-03-01..2023-04-01
         plan [from Q3 2023] = 2023-07-01..2023-10-01
         [Q1 of last year] = 2023-01-01..2023-04-01
         [2023 Q4] numbers = 2023-10-01..2024-01-01",
    );
}

#[test]
fn a_number_beside_the_right_words_is_a_year() {
    check(
        "who joined [in 2023] = 2023-01-01..2024-01-01
         the best [of 2023] = 2023-01-01..2024-01-01
         [in the year 2019]? = 2019-01-01..2020-01-01
         [in late 2023] she = 2023-01-01..2024-01-01
         [in 2023] and not [in 2022] = 2023-01-01..2024-01-01 = 2022-01-01..2023-01-01
         [during 2022] this broke = 2022-01-01..2023-01-01",
    );
}

#[test]
fn without_a_year_a_part_of_one_leans_to_the_latest_that_has_begun() {
    check(
        "what broke [in March] ~ 2024-03-01..2024-04-01
         what broke [in may] ~ 2024-05-01..2024-06-01
         [In june] we met ~ 2023-06-01..2023-07-01
         [on May 7] we met ~ 2024-05-07..2024-05-08
         [the 16th of May] ~ 2023-05-16..2023-05-17
         [on Feb 29] ~ 2024-02-29..2024-03-01
         goals for Q3? [in Q3] ~ 2023-07-01..2023-10-01
         error code 2023 [in March] ~ 2024-03-01..2024-04-01
         [in the summer] ~ 2023-06-01..2023-09-01",
    );
}

#[test]
fn last_and_this_choose_the_year() {
    check(
        "what did we decide [last May] = 2023-05-01..2023-06-01
         [last may] the build broke = 2023-05-01..2023-06-01
         [last april] = 2024-04-01..2024-05-01
         [this May] = 2024-05-01..2024-06-01
         we met [this may]. = 2024-05-01..2024-06-01
         [May last year] = 2023-05-01..2023-06-01
         [in May of last year] = 2023-05-01..2023-06-01
         [last year in June] = 2023-06-01..2023-07-01
         [last summer] in Rome ~ 2023-06-01..2023-09-01
         [last winter] ~ 2023-12-01..2024-03-01
         [this spring] ~ 2024-03-01..2024-06-01
         [the fall of 2022] ~ 2022-09-01..2022-12-01",
    );
    check_at("2024-01-10", "[this winter] ~ 2023-12-01..2024-03-01");
}

#[test]
fn days_are_told_from_today() {
    check(
        "what did I say [yesterday]? = 2024-05-14..2024-05-15
         [yesterday]'s standup = 2024-05-14..2024-05-15
         [today] = 2024-05-15..2024-05-16
         [this morning] = 2024-05-15..2024-05-16
         ideas [of last night] = 2024-05-14..2024-05-16
         [the day before yesterday] = 2024-05-13..2024-05-14
         [last Monday] = 2024-05-13..2024-05-14
         [last wednesday] = 2024-05-08..2024-05-09
         [this Monday] = 2024-05-13..2024-05-14
         [on Thursday] ~ 2024-05-09..2024-05-10
         [last weekend] = 2024-05-11..2024-05-13
         [over the weekend] ~ 2024-05-11..2024-05-13",
    );
    check_at("2024-05-19", "[last weekend] = 2024-05-11..2024-05-13");
}

#[test]
fn last_and_this_name_whole_weeks_months_and_years() {
    check(
        "[last week] = 2024-05-06..2024-05-13
         [this week]'s bugs = 2024-05-13..2024-05-20
         [last month] = 2024-04-01..2024-05-01
         [this month] = 2024-05-01..2024-06-01
         [last year] = 2023-01-01..2024-01-01
         [this year] = 2024-01-01..2025-01-01
         [last quarter] = 2024-01-01..2024-04-01",
    );
    check_at("2024-01-01", "[last month] = 2023-12-01..2024-01-01");
    check_at("2024-05-13", "[last week] = 2024-05-06..2024-05-13");
}

#[test]
fn the_past_week_reaches_until_today() {
    check(
        "[past week] = 2024-05-08..2024-05-16
         [in the last week] = 2024-05-08..2024-05-16
         [in the last 3 days] = 2024-05-12..2024-05-16
         [over the past two months] = 2024-03-15..2024-05-16
         [last 24 hours] = 2024-05-14..2024-05-16
         [the last few weeks] ~ 2024-04-10..2024-05-16
         what did I do [recently] ~ 2024-04-15..2024-05-16
         [Lately]? ~ 2024-04-15..2024-05-16",
    );
    check_at("2024-03-31", "[past month] = 2024-02-29..2024-04-01");
}

#[test]
fn so_long_ago_is_that_day_or_the_unit_around_it() {
    check(
        "[3 days ago] = 2024-05-12..2024-05-13
         it broke [twelve days ago]. = 2024-05-03..2024-05-04
         [a week ago] = 2024-05-05..2024-05-13
         [two weeks ago] = 2024-04-28..2024-05-06
         [a month ago] = 2024-03-31..2024-05-01
         [2 years ago] = 2021-11-14..2023-01-01
         [5 hours ago] = 2024-05-14..2024-05-16
         [a few days ago] ~ 2024-05-10..2024-05-14
         [a couple of weeks ago] ~ 2024-04-21..2024-05-06
         about [3 days ago] ~ 2024-05-12..2024-05-13
         two or [three days ago] ~ 2024-05-12..2024-05-13
         [over a week ago] ~ 2024-05-05..2024-05-13
         [one year ago today] = 2023-05-15..2023-05-16",
    );
}

#[test]
fn since_has_no_end_and_before_no_beginning() {
    check(
        "[since March] ~ 2024-03-01..
         [since may] the build is slow ~ 2024-05-01..
         [since last March] = 2024-03-01..
         [since the beginning of 2023] = 2023-01-01..
         [since yesterday] = 2024-05-14..
         [after 2021] = 2021-01-01..
         [before 2022] = ..2022-01-01
         [until 2023-05-07] = ..2023-05-07
         [before the end of 2022] = ..2023-01-01
         [since late 2022] = 2022-01-01..
         [before Monday] ~ ..2024-05-13",
    );
}

#[test]
fn both_ends_of_a_span_share_a_year() {
    check(
        "[between May and July 2023] = 2023-05-01..2023-08-01
         [from May 2023 to February] = 2023-05-01..2024-03-01
         [from november to april] ~ 2023-11-01..2024-05-01
         [between 2019 and 2021] = 2019-01-01..2022-01-01
         [from 2023-05-01 to 2023-05-07] = 2023-05-01..2023-05-08
         [May 2022 to July 2023] = 2022-05-01..2023-08-01
         [may to july 2023] = 2023-05-01..2023-08-01
         [from 3 to 5 May 2023] = 2023-05-03..2023-05-06
         [in May and June 2023] = 2023-05-01..2023-07-01
         [in 2021 or 2022] = 2021-01-01..2023-01-01
         [in December and January] ~ 2023-12-01..2024-02-01
         [in 2022] and [last week] = 2022-01-01..2023-01-01 = 2024-05-06..2024-05-13
         [between last May and yesterday] = 2023-05-01..2024-05-15
         [from 2021] back to 2019 = 2021-01-01..2022-01-01
         [from 2021 to 2019] = 2019-01-01..2022-01-01",
    );
}

#[test]
fn months_have_german_french_and_spanish_names_too() {
    check(
        "am [7. Mai 2023] = 2023-05-07..2023-05-08
         [im März] ~ 2024-03-01..2024-04-01
         le [14 juillet 2023] = 2023-07-14..2023-07-15
         el [7 de mayo de 2023] = 2023-05-07..2023-05-08
         [desde enero de 2024] = 2024-01-01..
         [en août 2023] = 2023-08-01..2023-09-01",
    );
}

#[test]
fn a_query_may_mention_several_times() {
    check(
        "is what we said [in 2022] (and [last week]) still so? = 2022-01-01..2023-01-01 = 2024-05-06..2024-05-13
         May [7 May 2023] = 2023-05-07..2023-05-08",
    );
}

#[test]
fn ordinary_words_are_no_months_or_seasons() {
    check(
        "may I ask
         it may fail
         This may be a bug
         this may fail in release builds
         THIS MAY FAIL
         the state we are in may change
         most of may fail
         7 may fail
         what came before may matter
         may 7 users connect at once
         a march through the forest, march!
         an august person
         the second march
         april told me
         april to june
         May
         march of progress
         does Spring Boot fall back in spring-boot
         in the fall of Rome
         wait a second
         on mars
         mid-May",
    );
}

#[test]
fn numbers_are_no_years_without_a_word_that_says_so() {
    check(
        "2023 tokens
         a context of 2048 tokens
         in 2000 files
         after 2000 requests
         error 2023
         E2023 and error-2023
         in #2023
         a limit of 2000
         over 2000
         in 2023,000
         in 2023ms and in 2000 ms
         version 2023.05
         $2023
         in 1066
         in the 2023 report
         port 2000 to 2010
         5000 years ago",
    );
}

#[test]
fn what_is_glued_to_something_is_no_time() {
    check(
        "open today.rs
         notes/2023-05-07.md
         2023-05-07-standup
         call 2023-05-0711
         in 2023-05-0711
         since_yesterday
         `yesterday`
         last-week
         on monday.com",
    );
}

#[test]
fn what_is_no_day_or_not_yet_is_no_mention() {
    check(
        "2023-02-30
         in 2023-13
         on Feb 30
         in Feb 30
         Feb 30, 2023
         30 Feb 2023
         the 31st of April 2023
         since Feb 30
         in 2025
         in May 2025
         on 16 May 2024
         this Friday
         in May 20233
         99999999999999999999 days ago
         0 days ago
         in 0000-00-00",
    );
}

#[test]
fn phrases_that_only_look_like_times_are_left_alone() {
    check(
        "the last week of the project
         last time
         the last 3 commits
         the last of us
         days ago
         3 days, ago
         last. May
         in, 2023
         past tense
         this unit
         in
         since
         between 2019 and tests
         half a year ago
         from here to there",
    );
}

#[test]
fn a_year_may_follow_a_comma_at_once() {
    check(
        "[on December 1,2023] = 2023-12-01..2023-12-02
         [Dec 1,2023]? = 2023-12-01..2023-12-02
         [Dec. 1st,2023] = 2023-12-01..2023-12-02
         what we booked [1 December,2023] = 2023-12-01..2023-12-02
         [in December,2023] we = 2023-12-01..2024-01-01
         December 1,20231
         December 1,2023,000
         1,2023 files
         in 1,2023
         December 1,2023.txt",
    );
}

#[test]
fn weeks_and_days_are_told_in_everyday_words() {
    check(
        "[this week] = 2024-05-13..2024-05-20
         [the week before last] = 2024-04-29..2024-05-06
         [in the month before last] = 2024-03-01..2024-04-01
         [the weekend before last] = 2024-05-04..2024-05-06
         [the night before last] = 2024-05-13..2024-05-15
         [last weekend] = 2024-05-11..2024-05-13
         [past few days] ~ 2024-05-10..2024-05-16
         [in the past few days] ~ 2024-05-10..2024-05-16
         [the past couple of weeks] ~ 2024-04-24..2024-05-16
         [in the last days] ~ 2024-05-10..2024-05-16
         [in recent weeks] ~ 2024-04-10..2024-05-16
         [10 days ago] = 2024-05-05..2024-05-06
         [earlier today] = 2024-05-15..2024-05-16
         [earlier this week] = 2024-05-13..2024-05-20
         [sometime last month] = 2024-04-01..2024-05-01
         [this morning] = 2024-05-15..2024-05-16
         [yesterday morning] = 2024-05-14..2024-05-15
         [yesterday evening]'s call = 2024-05-14..2024-05-15
         [yesterday night] = 2024-05-14..2024-05-16
         [this past week] = 2024-05-08..2024-05-16
         [this past weekend] = 2024-05-11..2024-05-13
         [the other day] ~ 2024-05-01..2024-05-16
         the week [before last May] = ..2023-05-01
         the other dayshift
         earlier versions
         recent commits",
    );
}
