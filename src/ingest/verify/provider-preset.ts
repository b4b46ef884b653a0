import type { Handshake } from './url-handshake.ts';
import type { Verifier } from './verifier.ts';

/** A provider with a known signature scheme, so that a source needs only its name and a secret. */
export interface ProviderPreset {
  /** The value of the source's `provider`. */
  name: string;
  title: string;
  needsSecret: boolean;
  /** The provider's name for the secret, for the form and the documentation. */
  secretName: string;
  /** Headers with the signature or the secret itself. They are never stored. */
  signatureHeaders: readonly string[];
  /** For a signature that is in no header: where it is, for the documentation. */
  signatureIn?: string;
  /** Further headers that are signed or needed to verify. */
  otherHeaders: readonly string[];
  /** The provider's location of the event type. It is the default `event_type_location` of a new source. */
  eventTypeLocation?: string;
  /** For a provider that has no such place: the event type of a payload, or null. Used without a location. */
  eventTypeOf?: { description: string; read(payload: unknown): string | null };
  compile: (secret: string) => Verifier;
  /** Answers a verified request in which the provider only asks about the URL. */
  handshake?: Handshake;
  /** The provider checks that a wrong signature is answered with 401. */
  refusesWith401?: true;
}
