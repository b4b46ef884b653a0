import { useQuery } from '@tanstack/react-query';
import type { Device, Posthorn, Subscription } from 'posthorn-client';
import { useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { DangerDialog } from '../../parts/act-dialog.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { RowButton } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { StateBadge, type StateLook } from '../../ui/text/state-badge.tsx';
import { Time } from '../../ui/text/time.tsx';

const LOOKS: Readonly<Record<Device['status'], StateLook>> = {
  online: { tone: 'ok', shape: 'check', word: 'Online' },
  offline: { tone: 'held', shape: 'pause', word: 'Offline' },
  disabled: { tone: 'off', shape: 'slash', word: 'Disabled' },
};

interface Row {
  device: Device;
  subscription: Subscription | undefined;
}

/** The devices, each with the subscription that it made by listening. */
async function readDevices(api: Posthorn): Promise<Row[]> {
  const { content } = await api.devices.list({ perPage: 100 }).page();
  if (content.length === 0) return [];
  const found = await api.subscriptions.list({ perPage: 1000 }).page();
  const byDevice = new Map(found.content.map((one) => [one.device_metadata?.uid, one]));
  return content.map((device) => ({ device, subscription: byDevice.get(device.uid) }));
}

/** Programs that listen to the project, such as `posthorn listen` on a laptop. */
export function Devices() {
  const { api, id } = useProject();
  const devices = useQuery({
    queryKey: [id, 'devices'],
    queryFn: () => readDevices(api),
    refetchInterval: 5000,
  });
  const [deleting, setDeleting] = useState<Device>();
  const columns: TableColumn<Row>[] = [
    { name: 'Host', cell: ({ device }) => device.host_name },
    { name: 'State', cell: ({ device }) => <StateBadge look={LOOKS[device.status]} /> },
    { name: 'Last seen', cell: ({ device }) => <Time at={device.last_seen_at} /> },
    {
      name: 'Event types',
      cell: ({ subscription }) =>
        subscription === undefined ? (
          '–'
        ) : (
          <PageLink to={`subscriptions/${subscription.uid}`}>
            {subscription.filter_config.event_types.join(', ')}
          </PageLink>
        ),
    },
    {
      name: 'Deliveries',
      cell: ({ subscription }) =>
        subscription === undefined ? (
          '–'
        ) : (
          <PageLink to="deliveries" filters={{ subscription: subscription.uid }}>
            Show
          </PageLink>
        ),
    },
    {
      name: '',
      cell: ({ device }) => (
        <RowButton act="Delete" of={device.host_name} look="danger" onClick={() => setDeleting(device)} />
      ),
    },
  ];
  return (
    <PageBody>
      <PageHead title="Devices" />
      <QueryView query={devices} label="Loading devices">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState
              title="No device listens"
              text="A device is a program that gets deliveries without a public URL. This command forwards them to a program on your machine:"
              command={`npx posthorn listen --project ${id} --forward-to http://localhost:3000/hooks`}
            />
          ) : (
            <PlainTable label="Devices" rows={rows} columns={columns} rowKey={({ device }) => device.uid} />
          )
        }
      </QueryView>
      {deleting !== undefined && (
        <DangerDialog
          what={`Delete ${deleting.host_name}`}
          act={() => api.devices.delete(deleting.uid)}
          onClose={() => setDeleting(undefined)}
        >
          Its connections are closed, and its subscription is deleted. It comes back if it listens again.
        </DangerDialog>
      )}
    </PageBody>
  );
}
