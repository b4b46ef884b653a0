import type { ListAuditQuery } from 'posthorn-client';
import { auditColumns } from '../../dashboard/audit-columns.tsx';
import { type ListFilters, TIME } from '../../dashboard/lists/list-filters.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { EmptyState } from '../../ui/page/states.tsx';

const filters: ListFilters<ListAuditQuery> = {
  time: TIME,
  action: { label: 'Action', query: (action) => ({ action }) },
  resource: { label: 'Resource ID', query: (resourceId) => ({ resourceId }) },
};

export const AuditList = () => (
  <ResourceList
    title="Audit log"
    page="audit"
    noun="entry"
    filters={filters}
    columns={auditColumns}
    load={({ audit }, query) => audit.list(query)}
    name={({ action, uid }) => `${action} ${uid}`}
    empty={
      <EmptyState
        title="No changes yet"
        text="Every change of the project is recorded here, with who made it and what it was before."
      />
    }
  />
);
