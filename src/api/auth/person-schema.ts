import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import { roles } from '../../domain/role.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { Account as AccountRow, Member as MemberRow, PersonRow } from '../../store/people/people.ts';
import type { SessionRow } from '../../store/people/sessions.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';

export const Person = Type.Object({
  uid: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean({
    description: 'Whether the owner of the address, or an administrator of the instance, has confirmed it.',
  }),
  name: Type.String(),
  instance_admin: Type.Boolean({ description: 'Whether the person may do anything in any project.' }),
  status: oneOf(['active', 'invited', 'deactivated'], '`invited`: has never signed in.'),
  last_sign_in_at: NullableTime,
  created_at: Time,
});

const SecondFactor = Type.Boolean({ description: 'Whether the account has a second factor.' });

export const Member = Type.Object({ ...Person.properties, second_factor: SecondFactor, role: oneOf(roles) });

export const Account = Type.Object({
  ...Person.properties,
  second_factor: SecondFactor,
  projects: Type.Array(Type.Object({ uid: Type.String(), role: oneOf(roles) })),
});

export function toPerson(row: PersonRow): Static<typeof Person> {
  const isNew = row.last_sign_in_at === null;
  return {
    uid: row.id,
    email: row.email,
    email_verified: row.is_email_verified,
    name: row.name,
    instance_admin: row.is_instance_admin,
    status: row.deactivated_at !== null ? 'deactivated' : isNew ? 'invited' : 'active',
    last_sign_in_at: isoOrNull(row.last_sign_in_at),
    created_at: iso(idTime(row.id)),
  };
}

/** An administrator of a project learns of an account by inviting it no more than any new one shows. */
export function toInvited(row: PersonRow, name: string): Static<typeof Person> {
  const unknown = { is_instance_admin: false, last_sign_in_at: null, deactivated_at: null };
  return toPerson({ ...row, ...unknown, name });
}

export function toMember(row: MemberRow): Static<typeof Member> {
  return { ...toPerson(row), second_factor: row.has_second_factor, role: row.role };
}

export function toAccount(row: AccountRow): Static<typeof Account> {
  const projects = Object.entries(row.roles).map(([uid, role]) => ({ uid, role }));
  return { ...toPerson(row), second_factor: row.has_second_factor, projects };
}

export const Session = Type.Object({
  uid: Type.String(),
  current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
  method: Type.String({ description: '`password`, `link`, or the name of a provider.' }),
  second_factor: Type.Boolean(),
  address: Type.String(),
  user_agent: Type.String(),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
});

export function toSession(row: SessionRow, currentId: string): Static<typeof Session> {
  return {
    uid: row.id,
    current: row.id === currentId,
    method: row.method,
    second_factor: row.has_second_factor,
    address: row.address,
    user_agent: row.user_agent,
    created_at: iso(idTime(row.id)),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
  };
}

export const Me = Type.Object({
  person: Person,
  has_password: Type.Boolean(),
  second_factor: SecondFactor,
  second_factor_required: Type.Boolean({
    description: 'Whether the session can use nothing but the own account until it has a second factor.',
  }),
  instance_admin: Type.Boolean(),
  projects: Type.Array(Type.Object({ uid: Type.String(), name: Type.String(), role: oneOf(roles) }), {
    description: 'The projects that the person may use, with the role in each.',
  }),
  session: Session,
});
