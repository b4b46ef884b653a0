import type { Posthorn } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
import { Button } from '../../ui/controls/button.tsx';

const NAME = 'Seen from the dashboard';
const HOUR_MS = 3_600_000;

/** The address of a link of an hour, without rights to change anything. One link per customer is used again. */
async function portalOf({ portalLinks }: Posthorn, owner: string): Promise<string> {
  const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
  const { content } = await portalLinks.list({ ownerId: owner, name: NAME, perPage: 100 }).page();
  const known = content.find((link) => link.name === NAME && !link.can_manage_endpoint && !link.can_retry);
  const link =
    known === undefined
      ? await portalLinks.create({ name: NAME, owner_id: owner, expires_at, can_retry: false })
      : await portalLinks.update(known.uid, { expires_at });
  return link.url;
}

/** Opens what the customer sees, in a new tab. The audit log has it. */
export function SeePortal({ owner }: { owner: string }) {
  const { api } = useProject();
  const open = useAct(
    async (tab: Window | null) => {
      try {
        const url = await portalOf(api, owner);
        if (tab !== null) tab.location.href = url;
      } catch (error) {
        tab?.close();
        throw error;
      }
      return tab;
    },
    (tab) => (tab === null ? 'The browser blocked the new tab. Allow it, and try again' : undefined),
  );
  const start = () => {
    // A tab that is opened later than the click is blocked.
    const tab = window.open('about:blank', '_blank');
    if (tab !== null) tab.opener = null;
    open.mutate(tab);
  };
  return (
    <Button icon="arrow" onClick={start} busy={open.isPending && 'Opening'}>
      See their portal
    </Button>
  );
}
