import { hash } from 'node:crypto';
import type { HttpClient } from '../../dispatch/client/http-client.ts';
import { visibleHeaders } from '../../domain/config/credential-headers.ts';
import { DEFAULT_REQUEST_ID_HEADER, DEFAULT_SIGNATURE_HEADER } from '../../domain/config/project-config.ts';
import type { LeasedMetaEvent } from '../../domain/delivery.ts';
import { VERSION } from '../../platform/version.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { compileSigner, type Signer } from '../../signing/sign-delivery.ts';
import type { Finish } from '../../store/queue/finish.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { requestResult } from './attempt-record.ts';
import { type BuiltRequest, MAX_RESPONSE_BYTES } from './build-request.ts';
import { back, ended, ourFault, type Sent } from './sent.ts';

/** One try of one meta event: a request to the URL of the project's own config. */
export interface MetaEventSenderDeps extends EnginePart<'ids' | 'now'> {
  cache: Pick<ConfigCache, 'getOrNull'>;
  http: Pick<HttpClient, 'send'>;
  /** Whether this node may still send. Reading the config takes time, in which the lease may expire. */
  maySend(): boolean;
}

const TIMEOUT_MS = 10_000;

export class MetaEventSender {
  readonly #deps: MetaEventSenderDeps;
  readonly #signers = new WeakMap<ProjectRouting, Signer>();

  constructor(deps: MetaEventSenderDeps) {
    this.#deps = deps;
  }

  async send(event: LeasedMetaEvent, signal: AbortSignal): Promise<Sent<Finish<LeasedMetaEvent>>> {
    const { cache, http, ids, now, maySend } = this.#deps;
    const routing = await cache.getOrNull(event.projectId);
    if (routing?.project.config.meta_event.is_enabled !== true)
      return ended(event, 'Discarded', 'Meta events are switched off.');
    if (routing.project.secret.revealOrNull() === null)
      return ourFault(event, "the project's secret for meta events cannot be opened");
    const request = this.#request(event, routing);
    if (!maySend()) return back(event);
    const outcome = await http.send(
      { ...request, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES },
      signal,
    );
    if (outcome.kind === 'error' && outcome.code === 'aborted') return back(event);
    const owner = { credentials: [], visible: visibleHeaders(routing.project.config) };
    const made = {
      request,
      outcome,
      owner,
      trace: null,
      made: { body: null, functionRequest: null },
      isStrain: true,
    };
    const { final_status_codes: finalCodes } = routing.project.config;
    return requestResult(event, made, { attemptId: ids.next(), nowMs: now(), finalCodes });
  }

  #request(event: LeasedMetaEvent, routing: ProjectRouting): BuiltRequest {
    const nowMs = this.#deps.now();
    const signed = this.#signer(routing).headers({
      id: event.id,
      timestampSeconds: Math.floor(nowMs / 1000),
      nowMs,
      body: event.body,
    });
    return {
      url: routing.project.config.meta_event.url,
      headers: [
        ['Content-Type', 'application/json'],
        ...signed,
        [DEFAULT_REQUEST_ID_HEADER, hash('sha256', event.id)],
        ['Accept-Encoding', 'gzip'],
        ['User-Agent', `Posthorn/${VERSION}`],
      ],
      body: event.body,
      secrets: [],
    };
  }

  /**
   * Both schemes with the project's own secret for meta events. The header and form are fixed, as receivers
   * expect.
   */
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
