//! Any text is read as a chat export or refused; what is read says something.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use loci_engine::mine::formats::{
    Given, TextFormat, aider, chatgpt, claude_ai, continue_dev, copilot, copilot_cli, cursor_agent, openai_messages,
    plain, slack,
};

const FORMATS: [&TextFormat; 10] = [
    &aider::AIDER,
    &chatgpt::CHATGPT,
    &claude_ai::CLAUDE_AI,
    &continue_dev::CONTINUE,
    &copilot::COPILOT,
    &copilot_cli::COPILOT_CLI,
    &cursor_agent::CURSOR_AGENT,
    &openai_messages::OPENAI_MESSAGES,
    &plain::CHAT_TEXT,
    &slack::SLACK_DAY,
];

fuzz_target!(|text: &str| {
    let given = Given { path: Path::new("agent-transcripts/chat.md"), text };
    for format in FORMATS {
        let _ = (format.recognise)(&given);
        let notes = (format.parse)(&given, &mut |conversation| {
            assert!(!conversation.messages.is_empty());
            assert!(conversation.messages.iter().all(|message| !message.text.is_empty()));
            Ok(())
        });
        assert!(notes.is_ok());
    }
});
