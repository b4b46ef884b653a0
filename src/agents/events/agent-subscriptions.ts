import { checkEndpoint } from '../../api/endpoints/endpoint-input.ts';
import { roleOf } from '../../api/http/access/access.ts';
import { actorOf, callerIdOf, ownerScope } from '../../api/http/access/caller.ts';
import type { ApiContext } from '../../api/http/context.ts';
import { limitsOf } from '../../api/subscriptions/subscription-input.ts';
import type { Author, ConfigChange } from '../../control/config-changes.ts';
import { addEndpoint, deleteEndpoint, updateEndpoint } from '../../control/endpoint-changes.ts';
import { addSubscription } from '../../control/subscription-changes.ts';
import { isExpired } from '../../domain/config/endpoint.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { AppError } from '../../domain/errors.ts';
import { isAtLeast } from '../../domain/role.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { Queryable } from '../../store/database/database.ts';
import type { AgentCall } from '../tools/project-api.ts';
import {
  AGENT,
  agentEndpoint,
  agentSubscription,
  ID_FIELD,
  refreshed,
  type Wanted,
} from './agent-endpoint.ts';
import { CallbackCheck } from './callback-check.ts';
import { exhausted, forbidden, unsupported } from './refusals.ts';
import { readKey, readSubscription, type SubscriptionKey, subscriptionId } from './subscription-request.ts';

/**
 * Subscriptions of agents. States of one, by its key:
 *   absent  -> subscribe: the callback echoes a challenge, then endpoint and subscription are stored in one commit;
 *   live    -> subscribe again: a refresh. It lasts longer, and the secret may be another one;
 *   expired -> its endpoint has expired. Subscribe: the challenge again, then live. Otherwise a later call removes it.
 *
 * The row of the project is locked where one is created, so two calls with the same key make one, on any nodes.
 */
const MAX_REMOVED = 10;
const FIRST = { perPage: 1, direction: 'next', cursor: null, order: 'ASC' } as const;

/** The caller of a call, and the part of the project that it acts for. */
interface Agent {
  by: Author;
  project: ProjectRow;
  scope: EndpointScope | undefined;
  principal: string;
  ownerId: string;
}

export class AgentSubscriptions {
  readonly #context: ApiContext;
  readonly #most: number;
  readonly #callbacks: CallbackCheck;

  constructor(context: ApiContext, most: number) {
    this.#context = context;
    this.#most = most;
    this.#callbacks = new CallbackCheck(context);
  }

  /** `check` refuses events and arguments that the caller cannot have. */
  async subscribe(
    call: AgentCall,
    params: Record<string, unknown>,
    check: (key: SubscriptionKey) => Promise<void>,
  ): Promise<{ id: string; refreshBefore: string; endpoint: EndpointRow; wasLive: boolean }> {
    const agent = await this.#enter(call, 'events/subscribe');
    const request = readSubscription(params);
    await check(request);
    const { principal, ownerId, project } = agent;
    const id = subscriptionId([project.id, principal, ownerId], request);
    const { row, wasLive } = await this.#put(agent, { id, principal, ownerId, request });
    return { id, refreshBefore: formatTime(row.expires_at ?? 0), endpoint: row, wasLive };
  }

  /** One that does not exist is gone already. */
  async unsubscribe(call: AgentCall, params: Record<string, unknown>): Promise<void> {
    const agent = await this.#enter(call, 'events/unsubscribe');
    const { project, principal, ownerId } = agent;
    const id = subscriptionId([project.id, principal, ownerId], readKey(params));
    const row = await this.#find(this.#context.db, project, id);
    if (row !== undefined) await this.#remove(agent, row);
  }

  async #enter({ request, caller, projectId, ownerId }: AgentCall, method: string): Promise<Agent> {
    const routing = await this.#context.cache.get(projectId);
    const { project } = routing;
    const role = roleOf(caller, projectId);
    if (caller.kind === 'portal' ? !caller.canManage : role === null || !isAtLeast(role, 'developer'))
      throw forbidden(
        'This key or portal link may not subscribe: it needs the role developer, or can_manage_endpoint.',
      );
    if (caller.kind === 'portal' && caller.ownerId === '') throw forbidden('This portal link has no owner.');
    if (!project.config.signature.schemes.includes('standard'))
      throw unsupported('signature', 'standard', 'This project does not sign by Standard Webhooks.');
    return {
      by: { projectId, actor: actorOf(caller, { address: request.ip, via: `mcp/${method}` }) },
      project,
      scope: caller.kind === 'portal' ? ownerScope(routing, caller) : undefined,
      principal: callerIdOf(caller),
      ownerId,
    };
  }

  async #find(db: Queryable, project: ProjectRow, id: string): Promise<EndpointRow | undefined> {
    const metadata = { ...AGENT, [ID_FIELD]: id };
    return (await this.#context.endpoints.list(db, project.id, { page: FIRST, metadata })).rows[0];
  }

  async #put(agent: Agent, wanted: Wanted): Promise<{ row: EndpointRow; wasLive: boolean }> {
    const { db, now } = this.#context;
    const known = await this.#find(db, agent.project, wanted.id);
    const wasLive = known !== undefined && !isExpired(known, now());
    if (!wasLive) await this.#verify(agent, wanted);
    const made = known === undefined ? await this.#create(agent, wanted) : undefined;
    // Where another call with the same key was first, this one refreshes too.
    return { row: made ?? (await this.#refresh(agent, wanted)), wasLive };
  }

  /** A caller's own callback that was verified for another of its subscriptions is not asked again. */
  async #verify(agent: Agent, wanted: Wanted): Promise<void> {
    const { project, principal } = agent;
    const { request } = wanted;
    await checkEndpoint(this.#context, project.config, { url: request.url });
    const { live } = await this.#of(agent);
    if (live.length >= this.#most) throw exhausted('subscriptions', this.#most);
    const isKnown = live.some(
      ({ verified_url, metadata }) =>
        verified_url === request.url && metadata['agent_principal'] === principal,
    );
    const made = agentEndpoint(this.#context, wanted);
    // Arguments that are no filter are refused before anything is sent.
    agentSubscription(this.#context, wanted, made, limitsOf(this.#context, project));
    if (!isKnown) await this.#callbacks.pass(project, made);
  }

  /** The subscriptions of the owner as this node knows them. Other nodes may have changed some within a second. */
  async #of({ project, ownerId }: Agent): Promise<{ live: EndpointRow[]; expired: EndpointRow[] }> {
    const { endpoints } = await this.#context.cache.get(project.id);
    const rows = [...endpoints.values()]
      .map(({ row }) => row)
      .filter(({ owner_id, metadata }) => owner_id === ownerId && metadata['agent'] === AGENT.agent);
    const hasExpired = (row: EndpointRow) => isExpired(row, this.#context.now());
    return { live: rows.filter((row) => !hasExpired(row)), expired: rows.filter(hasExpired) };
  }

  /** Undefined: there is one by now. */
  async #create(agent: Agent, wanted: Wanted): Promise<EndpointRow | undefined> {
    await this.#removeExpired(agent);
    const { changes } = this.#context;
    return changes.change(agent.by, async (change) => {
      if ((await this.#find(change, agent.project, wanted.id)) !== undefined)
        return { result: undefined, audit: [] };
      const { project, ownerId } = agent;
      const owners = { ownerId, metadata: AGENT, nowMs: this.#context.now() };
      if ((await this.#context.endpoints.countOf(change, project.id, owners)) >= this.#most)
        throw exhausted('subscriptions', this.#most);
      return this.#add(change, agent, wanted);
    });
  }

  async #add(change: ConfigChange, { project, scope }: Agent, wanted: Wanted) {
    const { changes } = this.#context;
    const endpoint = agentEndpoint(this.#context, wanted);
    const limits = limitsOf(this.#context, project);
    const subscription = agentSubscription(this.#context, wanted, endpoint, limits);
    const { result, audit } = await addEndpoint(changes, change, endpoint);
    const note = await addSubscription(changes, change, { ...subscription, scope });
    return { result, audit: [...audit, note] };
  }

  async #refresh({ by, scope, project }: Agent, { id, request }: Wanted): Promise<EndpointRow> {
    const row = await this.#find(this.#context.db, project, id);
    if (row === undefined) throw forbidden('The subscription was removed meanwhile. Subscribe again.');
    const one = { ...by, id: row.id, scope };
    return updateEndpoint(this.#context.changes, one, (known) => refreshed(this.#context, known, request));
  }

  async #removeExpired(agent: Agent): Promise<void> {
    const { expired } = await this.#of(agent);
    for (const row of expired.slice(0, MAX_REMOVED)) await this.#remove(agent, row);
  }

  /** Another call may have removed it. */
  async #remove({ by, scope }: Agent, { id }: EndpointRow): Promise<void> {
    try {
      await deleteEndpoint(this.#context.changes, { ...by, id, scope });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    }
  }
}
