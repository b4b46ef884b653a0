import { useQuery } from '@tanstack/react-query';
import type { PortalLink } from 'posthorn-client';
import { type ReactElement, useState } from 'react';
import { callCommand } from '../../dashboard/commands.ts';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { CopyButton } from '../../ui/text/copy.tsx';
import { Time } from '../../ui/text/time.tsx';
import { AddLink, EditLink, RevokeLink } from './link-dialogs.tsx';

/** In words. A right that is not set is as can_manage_endpoint. */
function rights(link: PortalLink): string {
  const { can_manage_endpoint: manage } = link;
  const all: [string, boolean][] = [
    ['look', true],
    ['retry', link.can_retry],
    ['manage', manage],
    ['see secrets', link.can_see_secrets ?? manage],
    ['edit functions', manage && (link.can_edit_functions ?? true)],
    ['send', link.can_create_events],
  ];
  return all.flatMap(([word, may]) => (may ? word : [])).join(', ');
}

/** Links through which customers see their own endpoints. */
export function PortalLinks() {
  const { api, id } = useProject();
  const [open, setOpen] = useState<ReactElement>();
  const close = () => setOpen(undefined);
  const links = useQuery({
    queryKey: [id, 'portal-links'],
    queryFn: () => api.portalLinks.list({ perPage: 200 }).page(),
  });
  const columns: TableColumn<PortalLink>[] = [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'Customer', cell: ({ owner_id }) => <CustomerLink owner={owner_id} /> },
    { name: 'Endpoints', cell: ({ endpoint_count }) => endpoint_count },
    { name: 'May', cell: rights },
    { name: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} none="never" /> },
    {
      name: '',
      cell: (link) => (
        <span className="flex justify-end gap-2">
          {link.url !== '' && <CopyButton text={link.url}>Copy link</CopyButton>}
          <Button
            onClick={() => setOpen(<EditLink link={link} onClose={close} />)}
            aria-label={`Edit ${link.name}`}
          >
            Edit…
          </Button>
          <Button
            look="danger"
            onClick={() => setOpen(<RevokeLink link={link} onClose={close} />)}
            aria-label={`Revoke ${link.name}`}
          >
            Revoke…
          </Button>
        </span>
      ),
    },
  ];
  const add = (
    <Button look="main" icon="plus" onClick={() => setOpen(<AddLink onClose={close} />)}>
      Add portal link
    </Button>
  );
  return (
    <PageBody>
      <PageHead title="Portal links">{add}</PageHead>
      <QueryView query={links} label="Loading portal links">
        {({ content }) =>
          content.length === 0 ? (
            <EmptyState
              title="No portal links yet"
              text="A link shows a customer their own endpoints and deliveries, and nothing else."
              command={callCommand(id, 'portal-links', { name: 'customer 7', owner_id: 'customer-7' })}
            >
              {add}
            </EmptyState>
          ) : (
            <PlainTable label="Portal links" rows={content} columns={columns} rowKey={({ uid }) => uid} />
          )
        }
      </QueryView>
      {open}
    </PageBody>
  );
}
