import { type Posthorn, PosthornError } from '../../../client/src/posthorn.ts';
import { VERSION } from '../../platform/version.ts';
import type { Given } from '../terminal/command.ts';
import { brokersFindings, type Finding, finding, nodesFinding, report } from '../terminal/findings.ts';
import { readProfiles } from '../terminal/profiles.ts';
import { connectionOf, withService } from './connect.ts';

/** Whether the user named a service. Settings of a server on this machine go before the profile of `posthorn login`. */
export async function namesService(given: Given): Promise<boolean> {
  const { env } = given;
  if ((given.text('url') ?? given.text('profile') ?? (env['POSTHORN_URL'] || undefined)) !== undefined)
    return true;
  if (env['DATABASE_URL'] || env['POSTHORN_DATA_DIR']) return false;
  const { current, profiles } = await readProfiles(env);
  return Object.hasOwn(profiles, current);
}

/** Asks a service whether it is well, as far as the key may see. */
export async function askService(given: Given): Promise<void> {
  const { url } = await connectionOf(given);
  report([
    { topic: 'program', state: 'ok', text: `Posthorn ${VERSION} on Node ${process.versions.node}` },
    ...(await readiness(url)),
  ]);
  report(await withService(given, async (posthorn) => [await nodes(posthorn), ...(await brokers(posthorn))]));
}

const CLOCK_MS = 5_000;

/** No operation of the API, so the client does not have it. */
async function readiness(url: string): Promise<Finding[]> {
  const startedMs = Date.now();
  const response = await fetch(new URL('/readyz', url)).catch((error: Error) => error);
  if (response instanceof Error) {
    const reason = response.cause instanceof Error ? response.cause.message : response.message;
    const text = `${url} does not answer (${reason}); start it, or name another with --url`;
    return [{ topic: 'service', state: 'problem', text }];
  }
  const nowMs = Date.now();
  const body = await response.text();
  const service: Finding = response.ok
    ? { topic: 'service', state: 'ok', text: `${url} is ready` }
    : {
        topic: 'service',
        state: 'problem',
        text: `${url} answers ${response.status}: ${body.slice(0, 200)}`,
      };
  const theirMs = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds.
  const apartMs = Math.max(0, startedMs - theirMs - 1_000, theirMs - nowMs);
  if (Number.isNaN(apartMs)) return [service];
  const text = `${Math.round(apartMs / 1000)} s apart from the service`;
  return [service, finding('clock', apartMs < CLOCK_MS, [text, 'synchronise both clocks (NTP)'])];
}

async function nodes(posthorn: Posthorn): Promise<Finding> {
  try {
    const alive = (await posthorn.nodes.list()).filter(({ is_alive }) => is_alive);
    return nodesFinding(alive.length, new Set(alive.map(({ schema }) => schema)).size <= 1);
  } catch (error) {
    if (!(error instanceof PosthornError) || error.status !== 403) throw error;
    return { topic: 'nodes', state: 'ok', text: 'shown to the instance key only' };
  }
}

async function brokers(posthorn: Posthorn): Promise<Finding[]> {
  const waiting: { source: string; reason: string }[] = [];
  for await (const { uid: source, status } of posthorn.sources.list())
    if (status?.state === 'waiting') waiting.push({ source, reason: status.reason });
  return brokersFindings(waiting, 'no source of the project waits for its broker');
}
