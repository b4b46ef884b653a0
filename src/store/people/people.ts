import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Role } from '../../domain/role.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';

export interface PersonRow {
  id: string;
  /** In lower case. */
  email: string;
  is_email_verified: boolean;
  name: string;
  is_instance_admin: boolean;
  last_sign_in_at: number | null;
  updated_at: number;
  /** Null: active. */
  deactivated_at: number | null;
}

/** A person with the credentials, for sign-in. */
export interface PersonWithCredentials extends PersonRow {
  password_hash: string | null;
  sealed_totp: Buffer | null;
  totp_confirmed_at: number | null;
  totp_step: number;
  recovery_hashes: Buffer[];
}

export interface PersonFields {
  email: string;
  is_email_verified: boolean;
  name: string;
  is_instance_admin: boolean;
}

export const PERSON_COLUMNS =
  'id, email, is_email_verified, name, is_instance_admin, last_sign_in_at, updated_at, deactivated_at';
const CREDENTIALS = `${PERSON_COLUMNS}, password_hash, sealed_totp, totp_confirmed_at, totp_step, recovery_hashes`;

export async function insertPerson(tx: Queryable, id: string, fields: PersonFields): Promise<PersonRow> {
  const [row] = await tx.query<PersonRow>(
    `insert into people (id, email, is_email_verified, name, is_instance_admin)
     values ($1, $2, $3, $4, $5) returning ${PERSON_COLUMNS}`,
    [id, fields.email, fields.is_email_verified, fields.name, fields.is_instance_admin],
  );
  return row as PersonRow;
}

async function find(
  db: Queryable,
  where: string,
  ...values: string[]
): Promise<PersonWithCredentials | undefined> {
  const [row] = await db.query<PersonWithCredentials>(
    `select ${CREDENTIALS} from people where ${where}`,
    values,
  );
  return row;
}

export const getPerson = (db: Queryable, id: string) => find(db, 'id = $1', id);
export const findPersonByEmail = (db: Queryable, email: string) => find(db, 'email = $1', email);

/** Two changes of one person take turns: both lock the row. */
export const lockPerson = (tx: Queryable, id: string) => find(tx, 'id = $1 for update', id);

/** As `lockPerson`. Nothing can give the account another address until the transaction ends. */
export const lockPersonByEmail = (tx: Queryable, email: string) => find(tx, 'email = $1 for update', email);

/** Finds the oldest account among the administrators of the instance who can sign in. */
export const firstAdministrator = (tx: Queryable) =>
  find(tx, 'is_instance_admin and deactivated_at is null order by id limit 1');

export async function updatePerson(
  tx: Queryable,
  id: string,
  fields: PersonFields & { isActive: boolean },
): Promise<PersonRow> {
  const [row] = await tx.query<PersonRow>(
    `update people set email = $2, is_email_verified = $3, name = $4, is_instance_admin = $5,
       deactivated_at = case when $6 then null else coalesce(deactivated_at, now()) end, updated_at = now()
     where id = $1 returning ${PERSON_COLUMNS}`,
    [id, fields.email, fields.is_email_verified, fields.name, fields.is_instance_admin, fields.isActive],
  );
  return row as PersonRow;
}

export async function setPassword(tx: Queryable, id: string, hash: string): Promise<void> {
  await tx.query('update people set password_hash = $2, updated_at = now() where id = $1', [id, hash]);
}

/** The next holder of the address starts without credentials and has never signed in. */
export async function clearCredentials(tx: Queryable, id: string): Promise<PersonWithCredentials> {
  const [row] = await tx.query<PersonWithCredentials>(
    `update people set is_email_verified = true, password_hash = null, sealed_totp = null, totp_confirmed_at = null,
       totp_step = 0, recovery_hashes = '{}', last_sign_in_at = null, updated_at = now()
     where id = $1 returning ${CREDENTIALS}`,
    [id],
  );
  return row as PersonWithCredentials;
}

/** Replaces a hash by a stronger one of the same password, unless the password was changed meanwhile. */
export async function strengthenPassword(
  db: Queryable,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query('update people set password_hash = $3 where id = $1 and password_hash = $2', [id, from, to]);
}

export async function recordSignIn(tx: Queryable, id: string): Promise<void> {
  await tx.query('update people set last_sign_in_at = now() where id = $1', [id]);
}

export interface Membership {
  project_id: string;
  person_id: string;
  role: Role;
}

export async function setMembership(
  tx: Queryable,
  { project_id, person_id, role }: Membership,
): Promise<void> {
  await tx.query(
    `insert into memberships (project_id, person_id, role) values ($1, $2, $3)
     on conflict (project_id, person_id) do update set role = excluded.role`,
    [project_id, person_id, role],
  );
}

export async function removeMembership(tx: Queryable, projectId: string, personId: string): Promise<void> {
  await tx.query('delete from memberships where project_id = $1 and person_id = $2', [projectId, personId]);
}

export function membershipsOf(db: Queryable, personId: string): Promise<Membership[]> {
  return db.query<Membership>(
    'select project_id, person_id, role from memberships where person_id = $1 order by project_id',
    [personId],
  );
}

export async function getMembership(
  db: Queryable,
  projectId: string,
  personId: string,
): Promise<Role | undefined> {
  const [row] = await db.query<Membership>(
    'select role from memberships where project_id = $1 and person_id = $2',
    [projectId, personId],
  );
  return row?.role;
}

export interface Member extends PersonRow {
  role: Role;
  has_second_factor: boolean;
}

const SECOND_FACTOR = 'totp_confirmed_at is not null as has_second_factor';
const OF_PERSON = PERSON_COLUMNS.split(', ')
  .map((name) => `p.${name}`)
  .join(', ');

/** The people with a role in a project, by address. */
export function listMembers(db: Queryable, projectId: string): Promise<Member[]> {
  return db.query<Member>(
    `select ${OF_PERSON}, m.role, p.${SECOND_FACTOR} from memberships m join people p on p.id = m.person_id
     where m.project_id = $1 order by p.email`,
    [projectId],
  );
}

export interface Account extends PersonRow {
  has_second_factor: boolean;
  roles: Record<string, Role>;
}

/** The accounts of the instance, with the roles of each. */
export function listAccounts(db: Queryable, page: PageRequest): Promise<Page<Account>> {
  const select = `${PERSON_COLUMNS}, ${SECOND_FACTOR}, coalesce((select json_object_agg(m.project_id, m.role)
    from memberships m where m.person_id = people.id), '{}') as roles`;
  return listPage(db, { select, from: 'people', where: new Where(), page, id: 'id' });
}
