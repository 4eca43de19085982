"""Some sixty tools of ten servers, described as real ones are."""

from collections.abc import Mapping

from bench.catalogues import Known, definition, found, server

TOOLBOX: Mapping[str, Mapping[str, str]] = {
    "github": {
        "create_issue": "Create a new issue in a GitHub repository.",
        "list_issues": "List issues in a repository, filtered by state, labels and assignee.",
        "search_issues": "Search for issues and pull requests across GitHub repositories.",
        "add_issue_comment": "Add a comment to an existing issue.",
        "create_pull_request": "Open a new pull request from one branch to another.",
        "merge_pull_request": "Merge a pull request.",
        "get_pull_request_files": "Get the list of files changed in a pull request.",
        "create_branch": "Create a new branch in a repository.",
        "fork_repository": "Fork a repository to your account or to an organization.",
        "search_code": "Search for code across repositories, with GitHub's query syntax.",
        "get_file_contents": "Get the contents of a file or directory from a repository.",
        "list_commits": "Get the list of commits of a branch.",
    },
    "slack": {
        "slack_post_message": "Post a new message to a channel.",
        "slack_reply_to_thread": "Reply to a specific message thread.",
        "slack_list_channels": "List public channels in the workspace, with pagination.",
        "slack_get_channel_history": "Get recent messages from a channel.",
        "slack_add_reaction": "Add a reaction emoji to a message.",
        "slack_get_users": "Get a list of all users in the workspace with their profiles.",
    },
    "files": {
        "read_file": "Read the complete contents of a file from the file system as text.",
        "write_file": "Create a new file or completely overwrite an existing one with new content.",
        "edit_file": "Make line-based edits to a text file and return a diff.",
        "create_directory": "Create a new directory, or ensure that one exists.",
        "list_directory": "Get a detailed listing of all files and directories at a path.",
        "move_file": "Move or rename files and directories.",
        "search_files": "Recursively search for files and directories matching a pattern.",
        "get_file_info": "Retrieve metadata about a file: size, times, permissions.",
    },
    "postgres": {
        "query": "Run a read-only SQL query against the database.",
        "list_tables": "List the tables of a schema.",
        "describe_table": "Describe the columns, types and indexes of a table.",
        "explain_query": "Show the execution plan of an SQL statement.",
    },
    "jira": {
        "createIssue": "Creates a ticket in a project.",
        "searchIssuesByJql": "Finds tickets with a JQL expression.",
        "transitionIssue": "Moves a ticket to another status of its workflow.",
        "addWorklog": "Logs time that was spent on a ticket.",
        "getSprintBoard": "Returns the board of the sprint that is going on.",
    },
    "calendar": {
        "create-event": "Schedule a meeting, with attendees and reminders.",
        "list-events": "List the appointments between two dates.",
        "delete-event": "Cancel a meeting and tell its attendees.",
        "find-free-time": "Find slots in which everybody is available.",
    },
    "mail": {
        "send_email": "Send an e-mail to one or more recipients, with attachments.",
        "search_emails": "Search the mailbox with Gmail's syntax.",
        "draft_email": "Write a draft without sending it.",
        "modify_labels": "Add or remove labels of a message, such as archive or spam.",
    },
    "browser": {
        "browser_navigate": "Navigate to a URL.",
        "browser_click": "Click an element on a web page.",
        "browser_take_screenshot": "Take a screenshot of the current page.",
        "browser_fill_form": "Fill in several fields of a form.",
        "browser_console_messages": "Return all console messages of the page.",
    },
    "kubernetes": {
        "pods_list": "List the pods of a namespace.",
        "pods_log": "Get the logs of a pod.",
        "pods_delete": "Delete a pod.",
        "deployments_scale": "Change the number of replicas of a deployment.",
        "events_list": "List what happened lately in the cluster.",
    },
    "weather": {
        "forecast": "Weather forecast for a place: temperature, rain and wind, for seven days.",
        "current_conditions": "The weather at a place right now.",
        "air_quality": "Air quality index and pollutants at a place.",
    },
    "payments": {
        "create_payment_link": "Create a link by which a customer pays.",
        "list_invoices": "List the invoices of a customer.",
        "create_refund": "Give a customer money back for a charge.",
        "retrieve_balance": "Retrieve the balance of the account.",
    },
}


def toolbox() -> tuple[Known, ...]:
    """All of them, each server under its own name."""
    return tuple(
        Known(
            server(f"tools/{name}"),
            found(*(definition(tool, description=text) for tool, text in tools.items())),
        )
        for name, tools in TOOLBOX.items()
    )
