import type { Role } from '../domain/role.ts';
import type { Secret } from '../platform/secret.ts';

/** An OpenID Connect provider, from the settings of the instance. */
export interface Provider {
  /** In addresses, and the method of its sessions. */
  name: string;
  /** On the button. */
  title: string;
  issuer: string;
  clientId: string;
  /** Null: a public client. */
  clientSecret: Secret<string> | null;
  /** Domains of addresses that may sign in. Empty: all. */
  domains: readonly string[];
  /** Whether the first sign-in makes an account. Otherwise only people who were invited may sign in. */
  createsAccounts: boolean;
  scopes: string;
  groupsClaim: string;
  /** The rights of the members of each group. */
  groups: readonly GroupRule[];
  /** Whether the provider asks for a second factor itself. */
  hasSecondFactor: boolean;
}

export interface GroupRule {
  group: string;
  /** The role in a project, or the administration of the instance. */
  gives: { projectId: string; role: Role } | 'instance';
}

/** The claims of a provider about a person. */
export interface Identity {
  issuer: string;
  subject: string;
  /** In lower case. The provider has confirmed it. */
  email: string;
  name: string;
  groups: readonly string[];
  hasSecondFactor: boolean;
}
