import { hash } from 'node:crypto';
import type { HttpClient } from '../../dispatch/client/http-client.ts';
import { visibleHeaders } from '../../domain/credential-headers.ts';
import type { HeldDelivery } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { isMetaQueueKey } from '../../domain/meta-event.ts';
import { DEFAULT_REQUEST_ID_HEADER, DEFAULT_SIGNATURE_HEADER } from '../../domain/project-config.ts';
import type { ObserverGuard } from '../../metrics/observer-guard.ts';
import { VERSION } from '../../platform/version.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { compileSigner, type Signer } from '../../signing/sign-delivery.ts';
import type { MetaEventRecorder } from '../../store/config/meta-event-recorder.ts';
import { attemptRecord } from './attempt-record.ts';
import type { BuiltRequest } from './build-request.ts';
import type { DeliverySender } from './delivery-sender.ts';
import { judgeOutcome } from './judge-outcome.ts';
import { outcomeMetaEvent } from './outcome-meta-event.ts';
import { handedBack, ourFault, type Sent } from './sent.ts';

/**
 * Sends what the dispatcher holds: meta events itself, deliveries through the delivery sender, and notes on the way
 * back which of their outcomes is worth a meta event. A meta event's own outcome never is.
 */
export interface MetaSenderDeps {
  deliveries: Pick<DeliverySender, 'send'>;
  recorder: MetaEventRecorder;
  cache: ConfigCache;
  http: HttpClient;
  ids: IdFactory;
  guard: ObserverGuard;
  /** The database's time in milliseconds. */
  now(): number;
}

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 51_200;

export class MetaSender {
  readonly #deps: MetaSenderDeps;
  readonly #signers = new WeakMap<ProjectRouting, Signer>();

  constructor(deps: MetaSenderDeps) {
    this.#deps = deps;
  }

  async send(delivery: HeldDelivery, signal: AbortSignal): Promise<Sent> {
    if (isMetaQueueKey(delivery.key)) return this.#sendMetaEvent(delivery, signal);
    const sent = await this.#deps.deliveries.send(delivery, signal);
    const { guard } = this.#deps;
    // It has been sent: whatever goes wrong from here on, its outcome is recorded.
    return guard.settle('meta_event', () => this.#withMetaEvent(delivery, sent), sent);
  }

  async #withMetaEvent(delivery: HeldDelivery, sent: Sent): Promise<Sent> {
    const routing = await this.#routing(delivery.projectId);
    if (routing === null || !routing.project.config.meta_event.is_enabled) return sent;
    const { recorder, now } = this.#deps;
    const { finish } = sent;
    const metaEvent = outcomeMetaEvent(recorder, routing.project, { delivery, finish, nowMs: now() });
    return { ...sent, finish: { ...finish, metaEvent } };
  }

  async #sendMetaEvent(delivery: HeldDelivery, signal: AbortSignal): Promise<Sent> {
    const { http, ids, now } = this.#deps;
    const routing = await this.#routing(delivery.projectId);
    if (routing?.project.config.meta_event.is_enabled !== true) {
      const finish = handedBack(delivery, 'Meta events are switched off.');
      return { finish: { ...finish, status: 'Discarded', delayMs: null }, effect: 'none' };
    }
    if (routing.project.secret.revealOrNull() === null)
      return ourFault(delivery, "the project's secret for meta events cannot be opened");
    const request = this.#request(delivery, routing);
    const outcome = await http.send(
      { ...request, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES },
      signal,
    );
    if (outcome.kind === 'error' && outcome.code === 'aborted') {
      return { finish: handedBack(delivery, null), effect: 'none' };
    }
    const context = { nowMs: now(), random: Math.random() };
    const { isGone: _, isExhausted: __, ...judgement } = judgeOutcome(delivery, outcome, context);
    const succeeded = judgement.status === 'Success';
    const wasTried = outcome.kind === 'response' || !outcome.ours;
    const owner = { credentials: [], visible: visibleHeaders(routing.project.config) };
    const attempt = wasTried ? attemptRecord(ids.next(), request, { outcome, owner, succeeded }) : null;
    const finish = { ...handedBack(delivery, null), ...judgement, attempt };
    const isStrain = wasTried && !judgement.isSecondRequest;
    return { finish, effect: succeeded ? 'success' : isStrain ? 'strain' : 'none' };
  }

  /** Null where the project was deleted. */
  async #routing(projectId: string): Promise<ProjectRouting | null> {
    const { cache } = this.#deps;
    try {
      return cache.peek(projectId) ?? (await cache.get(projectId));
    } catch (error) {
      if (error instanceof AppError && error.code === 'project_not_found') return null;
      throw error;
    }
  }

  #request(delivery: HeldDelivery, routing: ProjectRouting): BuiltRequest {
    const nowMs = this.#deps.now();
    const signed = this.#signer(routing).headers({
      id: delivery.id,
      timestampSeconds: Math.floor(nowMs / 1000),
      nowMs,
      body: delivery.body,
    });
    return {
      url: routing.project.config.meta_event.url,
      headers: [
        ['Content-Type', 'application/json'],
        ...signed,
        [DEFAULT_REQUEST_ID_HEADER, hash('sha256', delivery.id)],
        ['Accept-Encoding', 'gzip'],
        ['User-Agent', `Posthorn/${VERSION}`],
      ],
      body: delivery.body,
    };
  }

  /** Both schemes with the project's own secret for this; the header and form are fixed, as receivers expect. */
  #signer(routing: ProjectRouting): Signer {
    let signer = this.#signers.get(routing);
    if (signer === undefined) {
      signer = compileSigner({
        schemes: ['convoy', 'standard'],
        header: DEFAULT_SIGNATURE_HEADER,
        versions: [{ hash: 'SHA256', encoding: 'hex' }],
        advanced: false,
        secrets: [{ value: routing.project.secret.reveal().meta_event, expiresAt: null }],
      });
      this.#signers.set(routing, signer);
    }
    return signer;
  }
}
