import { type OneEndpoint, verifyEndpoint } from '../../control/endpoint-changes.ts';
import { isPending, timeoutSeconds } from '../../domain/config/endpoint.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { owned } from '../../domain/endpoint-scope.ts';
import { AppError, found, wrongState } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { randomText } from '../../platform/random.ts';
import { Tasks } from '../../platform/tasks.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ApiContext, ReadContext, SendContext } from '../http/context.ts';

/**
 * The challenge of an endpoint with `verification` `challenge`. It is pending until its URL has echoed one.
 *
 *   created, or another URL ── pending ── a signed POST ──> echoed: active
 *                                 ^          └──> anything else: pending; a call tries again
 *
 * The first challenge is sent by the node that stored the endpoint, once, after the answer. It is not stored: if the
 * node dies meanwhile, a call of the API sends another.
 */
const CHALLENGE_CHARS = 43;
const MOST_SECONDS = 5;
const MOST_ANSWER_BYTES = 4096;
/**
 * First challenges under way on a node, and those of one project, so that others have room next to slow receivers. Endpoints
 * beyond them stay pending until a call verifies them.
 */
const MOST_AT_A_TIME = 50;
const MOST_OF_A_PROJECT = 5;
const MARK = 'X-Posthorn-Verification';

interface UnderWay {
  all: Tasks;
  /** Only projects that have some. */
  ofProjects: Map<ProjectId, number>;
}
const underWay = new WeakMap<ReadContext['db'], UnderWay>();

/** Sends the first challenge in the background, if the endpoint has to answer one. */
export function beginChallenge(
  context: ApiContext,
  { row, by, config }: { row: EndpointRow; by: OneEndpoint; config: ProjectConfig },
): void {
  if (by.isDryRun === true || !isPending(row)) return;
  const { projectId, actor, id, scope } = by;
  const isBegun = addTask(context, projectId, async () => {
    try {
      await challenge(context, { projectId, actor, id, scope }, { row, config });
    } catch (error) {
      // Its owner sees that it is pending, and a call says why.
      if (!(error instanceof AppError))
        context.log.warn({ err: error, endpoint: id }, 'failed to send the challenge of an endpoint');
    }
  });
  if (!isBegun)
    context.log.warn(
      { project: projectId, endpoint: id },
      'sent no first challenge to an endpoint, because too many are under way',
    );
}

/** False: too many are under way. */
function addTask({ db }: ReadContext, projectId: ProjectId, start: () => Promise<void>): boolean {
  const { all, ofProjects } = underWay.get(db) ?? { all: new Tasks(MOST_AT_A_TIME), ofProjects: new Map() };
  underWay.set(db, { all, ofProjects });
  const count = ofProjects.get(projectId) ?? 0;
  if (count >= MOST_OF_A_PROJECT) return false;
  const isBegun = all.add(start, () => {
    const left = (ofProjects.get(projectId) ?? 1) - 1;
    if (left > 0) ofProjects.set(projectId, left);
    else ofProjects.delete(projectId);
  });
  if (isBegun) ofProjects.set(projectId, count + 1);
  return isBegun;
}

/** Sends a challenge now. An error says why the endpoint is still pending. */
export async function verifyNow(
  context: ApiContext,
  one: OneEndpoint,
  config: ProjectConfig,
): Promise<EndpointRow> {
  const known = await context.endpoints.get(context.db, one.projectId, one.id);
  const row = found(owned(one.scope, known), 'endpoint', one.id);
  if (row.verification === 'none') throw wrongState('The endpoint asks for no verification.');
  return isPending(row) ? challenge(context, one, { row, config }) : row;
}

async function challenge(
  context: ApiContext,
  one: OneEndpoint,
  { row, config }: { row: EndpointRow; config: ProjectConfig },
): Promise<EndpointRow> {
  const asked = await askChallenge(context, { row, config });
  if (!asked.isEchoed) throw notVerified(asked.reason);
  return verifyEndpoint(context.changes, one, row.url);
}

/** `outcome`: that of the request, as deliveries have it. Null: nothing was sent. */
export type Challenged = { isEchoed: true } | { isEchoed: false; reason: string; outcome: string | null };

/** Sends a challenge to an endpoint, which may not be saved, and reads the answer. `messageId`: the id of the request. */
export async function askChallenge(
  context: SendContext,
  { row, config, messageId }: { row: EndpointRow; config: ProjectConfig; messageId?: string },
): Promise<Challenged> {
  const text = randomText(CHALLENGE_CHARS);
  const { project } = await context.cache.get(row.project_id);
  const result = await context.tryEndpoint({
    // The challenge is its own body, in every form of deliveries.
    row: {
      ...row,
      envelope: 'none',
      envelope_fields: {},
      cloudevents: '',
      content_type: 'application/json',
      http_timeout: Math.min(timeoutSeconds(row, config), MOST_SECONDS),
    },
    config,
    keys: project.keys,
    body: Buffer.from(JSON.stringify({ type: 'verification', challenge: text })),
    mark: MARK,
    ...(messageId !== undefined && { messageId }),
  });
  if (result.kind === 'untried') return { isEchoed: false, reason: result.reason, outcome: null };
  const { succeeded, error, httpStatus, responseBody, outcome } = result.attempt;
  const failed = (reason: string): Challenged => ({ isEchoed: false, reason, outcome });
  if (error !== null) return failed(error);
  if (!succeeded) return failed(`it answered ${httpStatus ?? 'nothing'}`);
  if (!echoes(responseBody ?? Buffer.alloc(0), text))
    return failed('its answer is not the challenge, as text or as {"challenge": ...}');
  return { isEchoed: true };
}

const notVerified = (reason: string) => wrongState(`The endpoint is still pending: ${reason}.`);

/** The text itself, or JSON that names it. */
function echoes(body: Buffer, text: string): boolean {
  if (body.length > MOST_ANSWER_BYTES) return false;
  const answer = body.toString().trim();
  if (answer === text) return true;
  try {
    const json: unknown = JSON.parse(answer);
    return json === text || (isObject(json) && json['challenge'] === text);
  } catch {
    return false;
  }
}
