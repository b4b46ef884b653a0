import type { ConfigChange, ConfigChanges } from '../control/config-changes.ts';
import { addEndpoint } from '../control/endpoint-changes.ts';
import { newEndpoint } from '../control/new-endpoint.ts';
import { newSubscription, putSubscription } from '../control/subscription-changes.ts';
import { type AuditNote, actorFrom } from '../domain/audit.ts';
import type { JobWork } from '../store/jobs/jobs.ts';

export interface OnboardItem {
  name: string;
  url: string;
  event_type?: string;
  auth_username?: string;
  auth_password?: string;
}

export const ONBOARD_CHUNK = 50;

/** Creates the next endpoints of an onboarding. Its cursor is the number created so far. */
export function onboardWork(changes: ConfigChanges): JobWork {
  return async (job) => async (tx) => {
    if (job.sealed === null) throw new Error(`onboarding ${job.id} has lost its input`);
    const items = JSON.parse(changes.deps.sealer.open(job.sealed, `job ${job.id}`)) as OnboardItem[];
    const from = Number(job.cursor);
    const chunk = items.slice(from, from + ONBOARD_CHUNK);
    const by = { projectId: job.project_id, actor: actorFrom(job) };
    const committed = await changes.changeIn(tx, by, async (change) => {
      const audit: AuditNote[] = [];
      for (const item of chunk) audit.push(...(await makeEndpoint(changes, change, item)));
      return { result: null, audit };
    });
    const done = from + chunk.length;
    return {
      cursor: done < items.length ? String(done) : null,
      done: chunk.length,
      failed: 0,
      committed,
    };
  };
}

async function makeEndpoint(
  changes: ConfigChanges,
  change: ConfigChange,
  item: OnboardItem,
): Promise<AuditNote[]> {
  const { ids } = changes.deps;
  const { name, url, auth_username: username, auth_password: password = '' } = item;
  const made = newEndpoint(changes.deps, {
    id: ids.next(),
    name,
    url,
    ...(username && { authentication: { type: 'basic_auth', basic_auth: { username, password } } }),
  });
  const endpoint = await addEndpoint(changes, change, made);
  const subscription = await putSubscription(changes, change, {
    id: ids.next(),
    fields: newSubscription({
      name: `${name}-subscription`,
      endpoint_id: made.id,
      event_types: [item.event_type || '*'],
    }),
  });
  return [...endpoint.audit, ...subscription.audit];
}
