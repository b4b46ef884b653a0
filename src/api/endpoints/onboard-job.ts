import { type AuditNote, actorFrom, changeOf } from '../../domain/audit.ts';
import { noConditions } from '../../domain/subscription.ts';
import { type ConfigTx, changeConfigIn } from '../../store/config/config-version.ts';
import type { JobWork } from '../../store/config/jobs.ts';
import { saveSubscription } from '../../store/config/subscriptions.ts';
import type { ApiContext } from '../http/context.ts';
import { newEndpointFields, newEndpointSecrets } from './endpoint-input.ts';

export interface OnboardItem {
  name: string;
  url: string;
  event_type?: string;
  auth_username?: string;
  auth_password?: string;
}

export const ONBOARD_CHUNK = 50;

/** Makes the next endpoints of an onboarding. Its cursor is the number made so far. */
export function onboardWork(context: ApiContext): JobWork {
  return async (tx, job) => {
    if (job.sealed === null) throw new Error(`onboarding ${job.id} has lost its input`);
    const items = JSON.parse(context.sealer.open(job.sealed, `job ${job.id}`)) as OnboardItem[];
    const from = Number(job.cursor);
    const chunk = items.slice(from, from + ONBOARD_CHUNK);
    const projectId = job.project_id;
    const by = { projectId, actor: actorFrom(job.actor_type, job.actor_id) };
    await changeConfigIn({ ...context, tx }, by, async (configTx, version) => {
      const audit: AuditNote[] = [];
      for (const item of chunk)
        audit.push(...(await makeEndpoint(context, configTx, { item, projectId, version })));
      return { result: null, audit };
    });
    const done = from + chunk.length;
    return {
      cursor: done < items.length ? String(done) : null,
      done: chunk.length,
      failed: 0,
      committed: () => context.cache.load(job.project_id),
    };
  };
}

async function makeEndpoint(
  context: ApiContext,
  tx: ConfigTx,
  wanted: { item: OnboardItem; projectId: string; version: number },
): Promise<AuditNote[]> {
  const { item, projectId, version } = wanted;
  const id = context.ids.next();
  const input = {
    name: item.name,
    url: item.url,
    ...(item.auth_username && {
      authentication: {
        type: 'basic_auth' as const,
        basic_auth: { username: item.auth_username, password: item.auth_password ?? '' },
      },
    }),
  };
  const endpoint = await context.endpoints.save(tx, {
    id,
    projectId,
    version,
    fields: newEndpointFields(input, id),
    secret: newEndpointSecrets(context, input),
    told: [{ type: 'endpoint.created' }],
  });
  const subscription = await saveSubscription(tx, {
    id: context.ids.next(),
    projectId,
    version,
    fields: {
      name: `${item.name}-subscription`,
      type: 'api',
      status: 'active',
      endpoint_id: id,
      source_id: '',
      event_types: [item.event_type || '*'],
      filter: noConditions(),
      function: '',
      delivery_mode: 'at_least_once',
      alert_config: null,
      rate_limit_config: null,
      retry_config: null,
    },
  });
  return [changeOf('endpoint.created', null, endpoint), changeOf('subscription.created', null, subscription)];
}
