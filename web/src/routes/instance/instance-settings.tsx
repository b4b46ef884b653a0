import { useQuery } from '@tanstack/react-query';
import type { InstanceSetting as Setting } from 'posthorn-client';
import { PageBody } from '../../dashboard/page-body.tsx';
import { apiOf } from '../../data/session.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { CopyIcon } from '../../ui/text/copy.tsx';

/** The settings of the node that answers. A node reads them at its start, so they are shown and not changed. */
export function InstanceSettings() {
  const settings = useQuery({ queryKey: ['settings'], queryFn: () => apiOf().nodes.listSettings() });
  return (
    <PageBody>
      <PageHead title="Instance settings" />
      <p className="mb-3 max-w-[75ch] text-muted">
        These are environment variables of the node that answered. A node reads them when it starts, so a
        change needs a restart.
      </p>
      <QueryView query={settings} label="Loading the settings" rows={12}>
        {(all) => (
          <dl className="border-t border-line">
            {all.map((setting) => (
              <Line key={setting.name} setting={setting} />
            ))}
          </dl>
        )}
      </QueryView>
    </PageBody>
  );
}

function Line({ setting: { name, value, is_set: isSet, description } }: { setting: Setting }) {
  const shown = value ?? (isSet ? 'set, not shown' : '');
  return (
    <div className="grid gap-x-6 border-b border-line py-1.5 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <dt className="font-mono text-xs leading-5 break-all">
        {name} <CopyIcon text={name} what="the name" />
      </dt>
      <dd className="min-w-0">
        <span className={`break-all ${isSet ? 'font-semibold' : ''}`}>{shown === '' ? '–' : shown}</span>
        {!isSet && shown !== '' && <span className="text-muted"> by default</span>}
        <p className="max-w-[75ch] text-muted">{description}</p>
      </dd>
    </div>
  );
}
