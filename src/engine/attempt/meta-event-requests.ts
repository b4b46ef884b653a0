import { hash } from 'node:crypto';
import { DEFAULT_REQUEST_ID_HEADER, DEFAULT_SIGNATURE_HEADER } from '../../domain/config/project-config.ts';
import type { LeasedMetaEvent } from '../../domain/delivery.ts';
import { VERSION } from '../../platform/version.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { compileSigner, type Signer } from '../../signing/sign-delivery.ts';
import type { BuiltRequest } from './build-request.ts';

/** The requests of meta events. They differ from those of deliveries in their headers and their signature. */
export class MetaEventRequests {
  readonly #signers = new WeakMap<ProjectRouting, Signer>();

  request(event: LeasedMetaEvent, routing: ProjectRouting, nowMs: number): BuiltRequest {
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
