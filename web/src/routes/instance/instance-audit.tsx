import type { AuditEntry } from 'posthorn-client';
import { auditColumns } from '../../dashboard/audit-columns.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { useRows } from '../../data/rows.ts';
import { apiOf } from '../../data/session.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';

/** The audit log of the instance and of every project. */
export function InstanceAudit() {
  const rows = useRows<AuditEntry>({
    key: ['audit'],
    load: (page) => apiOf().audit.listInstance(page).page(),
    live: true,
  });
  return (
    <div className="flex h-full flex-col px-4 pt-3">
      <PageHead title="Instance audit" />
      <LiveList
        label="Audit log"
        noun="entry"
        rows={rows}
        columns={auditColumns}
        href={({ project_id, uid }) =>
          project_id === null ? '/instance/audit' : `/p/${project_id}/audit/${uid}`
        }
        name={({ action, uid }) => `${action} ${uid}`}
        empty={<EmptyState title="No changes yet" text="Every change is recorded here." />}
      />
    </div>
  );
}
