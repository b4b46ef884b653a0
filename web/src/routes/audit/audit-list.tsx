import type { AuditEntry } from 'posthorn-client';
import { useContext } from 'react';
import { auditColumns } from '../../dashboard/audit-columns.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { useFilters } from '../../data/search.ts';
import { FilterBar, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';

export function AuditList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const filters = {
    ...rangeOf(search['time'], useContext(TimeStyleContext).utc),
    ...(search['action'] === undefined ? {} : { action: search['action'] }),
    ...(search['resource'] === undefined ? {} : { resourceId: search['resource'] }),
  };
  const rows = useRows<AuditEntry>({
    key: [id, 'audit', filters],
    load: (page) => api.audit.list({ ...filters, ...page }).page(),
    live: true,
  });
  return (
    <ListLayout>
      <PageHead title="Audit log" />
      <FilterBar>
        <TimeFilter value={search['time'] ?? ''} onChange={(time) => setSearch({ time })} />
        <FilterText
          label="Action"
          value={search['action'] ?? ''}
          onChange={(action) => setSearch({ action })}
        />
        <FilterText
          label="Resource ID"
          value={search['resource'] ?? ''}
          onChange={(resource) => setSearch({ resource })}
        />
      </FilterBar>
      <LiveList
        label="Audit log"
        noun="entry"
        rows={rows}
        columns={auditColumns}
        href={({ uid }) => withSearch(at(`audit/${uid}`), search)}
        name={({ action, uid }) => `${action} ${uid}`}
        empty={
          <EmptyState
            title="No changes yet"
            text="Every change of the project is recorded here, with who made it and what it was before."
          />
        }
      />
    </ListLayout>
  );
}
