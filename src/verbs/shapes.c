/* SPDX-License-Identifier: MIT */
#include "verbs/handlers.h"

const struct shape shapes[] = {
    { "Summary", summary_fields },
    { "Job", job_fields },
    { "Attempt", attempt_fields },
    { "Page", page_fields },
    { "Lease", lease_fields },
    { "Failed", fail_fields },
    { "Extended", extend_fields },
    { "Explanation", explanation_fields },
    { "Queue", queue_fields },
    { "Tenant", tenant_fields },
    { "Stats", stats_fields },
    { "TenantStats", tenant_stats_fields },
    { "Step", step_fields },
    { "Occurrence", occurrence_fields },
    { "Recurrence", recurrence_fields },
    { "RecurrenceSummary", recurrence_summary_fields },
    { "RecurrencePage", recurrence_page_fields },
    { "LedgerEntry", ledger_fields },
    { "Bulk", bulk_fields },
    { "AuditEntry", audit_fields },
    { "AuditPage", audit_page_fields },
    { "Token", token_fields },
    { "NewToken", new_token_fields },
    { 0 },
};
