import { type AuditNote, changeOf, INSTANCE } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import { isAtLeast, type Role } from '../domain/role.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { isUniqueViolation } from '../store/database/pg-errors.ts';
import { findIdentity, insertIdentity } from '../store/people/identities.ts';
import {
  insertPerson,
  lockPerson,
  lockPersonByEmail,
  membershipsOf,
  type PersonRow,
  type PersonWithCredentials,
  removeMembership,
  setMembership,
  updatePerson,
} from '../store/people/people.ts';
import { takeOver } from './links.ts';
import { type SignedIn, signingIn, startSession } from './new-session.ts';
import type { Identity, Provider } from './oidc.ts';
import type { PeopleDeps, Visitor } from './people-deps.ts';

/**
 * Signs in the person that a provider has identified. The account is found by issuer and subject, at the first sign-in by
 * the confirmed address, whose first proof takes the account from others who set it up. The groups of the person set the roles that the settings of the provider name, at each sign-in.
 */
export async function signInWithProvider(
  deps: PeopleDeps,
  { provider, identity }: { provider: Provider; identity: Identity },
  visitor: Visitor,
): Promise<SignedIn> {
  const attempt = () =>
    signingIn(deps, visitor, async (tx) => {
      const person = await findPerson(tx, deps, provider, identity);
      if (person.deactivated_at !== null) throw new AppError('provider_refused');
      const current = await followGroups(tx, deps, { provider, identity }, person);
      const how = {
        person: current,
        method: provider.name,
        hasSecondFactor: identity.hasSecondFactor,
      };
      return startSession(tx, deps, how, visitor);
    });
  const signedIn = await attempt().catch((error: unknown) => {
    // Another sign-in has made the account meanwhile.
    if (isUniqueViolation(error)) return attempt();
    throw error;
  });
  deps.forgetCallers(signedIn.session.person_id);
  return signedIn;
}

async function findPerson(
  tx: Queryable,
  deps: PeopleDeps,
  provider: Provider,
  identity: Identity,
): Promise<PersonWithCredentials> {
  const knownId = await findIdentity(tx, identity);
  const known = knownId === undefined ? undefined : await lockPerson(tx, knownId);
  if (known !== undefined) return known;
  const invited = await lockPersonByEmail(tx, identity.email);
  if (invited === undefined && !provider.createsAccounts) throw new AppError('provider_no_account');
  const id = invited?.id ?? (await createPerson(tx, deps, identity)).id;
  if (invited?.is_email_verified === false) await takeOver(tx, id);
  await insertIdentity(tx, { ...identity, person_id: id });
  return (await lockPerson(tx, id)) as PersonWithCredentials;
}

async function createPerson(tx: Queryable, deps: PeopleDeps, identity: Identity): Promise<PersonRow> {
  const { email, name } = identity;
  const fields = { email, is_email_verified: true, name, is_instance_admin: false };
  const person = await insertPerson(tx, deps.ids.next(), fields);
  const place = { ids: deps.ids, projectId: null, actor: INSTANCE };
  await insertAudit(tx, place, [changeOf('person.created', null, person)]);
  return person;
}

/** Sets the roles that the provider's settings name. A role that no group gives any more is taken back. */
async function followGroups(
  tx: Queryable,
  deps: PeopleDeps,
  { provider, identity }: { provider: Provider; identity: Identity },
  person: PersonWithCredentials,
): Promise<PersonRow> {
  if (provider.groups.length === 0) return person;
  const given = provider.groups.filter(({ group }) => identity.groups.includes(group));
  const before = new Map(
    (await membershipsOf(tx, person.id)).map(({ project_id, role }) => [project_id, role]),
  );
  for (const projectId of namedProjects(provider)) {
    const role = highestRole(given, projectId);
    const note = await setRole(tx, { projectId, person, before: before.get(projectId), role });
    if (note !== null) await insertAudit(tx, { ids: deps.ids, projectId, actor: INSTANCE }, [note]);
  }
  const current = await setAdministration(tx, deps, { provider, person, isGiven: given.some(isInstance) });
  await notifyOfPerson(tx, person.id);
  return current;
}

type Rule = Provider['groups'][number];
const isInstance = ({ gives }: Rule): boolean => gives === 'instance';

function namedProjects({ groups }: Provider): Set<string> {
  return new Set(groups.flatMap(({ gives }) => (gives === 'instance' ? [] : [gives.projectId])));
}

function highestRole(given: readonly Rule[], projectId: string): Role | null {
  let highest: Role | null = null;
  for (const { gives } of given) {
    if (gives === 'instance' || gives.projectId !== projectId) continue;
    if (highest === null || isAtLeast(gives.role, highest)) highest = gives.role;
  }
  return highest;
}

interface RoleChange {
  projectId: string;
  person: PersonRow;
  before: Role | undefined;
  role: Role | null;
}

async function setRole(tx: Queryable, change: RoleChange): Promise<AuditNote | null> {
  const { projectId, person, before, role } = change;
  const resourceId = person.id;
  if (role === null) {
    if (before === undefined) return null;
    await removeMembership(tx, projectId, person.id);
    return { action: 'person.left', resourceId, before: { email: person.email, role: before }, after: null };
  }
  if (role === before) return null;
  await setMembership(tx, { project_id: projectId, person_id: person.id, role });
  const after = { email: person.email, role };
  return before === undefined
    ? { action: 'person.joined', resourceId, before: null, after }
    : { action: 'person.role_changed', resourceId, before: { role: before }, after: { role } };
}

async function setAdministration(
  tx: Queryable,
  deps: PeopleDeps,
  { provider, person, isGiven }: { provider: Provider; person: PersonRow; isGiven: boolean },
): Promise<PersonRow> {
  if (!provider.groups.some(isInstance) || person.is_instance_admin === isGiven) return person;
  const after = await updatePerson(tx, person.id, { ...person, is_instance_admin: isGiven, isActive: true });
  const place = { ids: deps.ids, projectId: null, actor: INSTANCE };
  await insertAudit(tx, place, [changeOf('person.updated', person, after)]);
  return after;
}
