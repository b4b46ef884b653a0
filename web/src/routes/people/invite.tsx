import { useQueryClient } from '@tanstack/react-query';
import type { InviteToProjectResult } from 'posthorn-client';
import { useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { ROLES, type Role } from './person-cells.tsx';

interface Wanted {
  email: string;
  name: string;
  role: Role;
}

interface Props {
  title: string;
  /** Undefined: the person becomes an administrator of the instance. */
  project?: string;
  invite(wanted: Wanted): Promise<InviteToProjectResult>;
  onClose(): void;
}

/** Gives a person a role. Where there is no mail server, it shows the link of the invitation. */
export function Invite({ title, project, invite, onClose }: Props) {
  const queries = useQueryClient();
  const [invited, setInvited] = useState<InviteToProjectResult>();
  if (invited !== undefined)
    return (
      <Dialog title={`${invited.person.email} is invited`} onClose={onClose}>
        <Invited invited={invited} />
      </Dialog>
    );
  const submit = async (form: FormData): Promise<never> => {
    const made = await invite({
      email: formText(form, 'email'),
      name: formText(form, 'name'),
      role: formText(form, 'role') as Role,
    });
    void queries.invalidateQueries();
    setInvited(made);
    // The dialog stays open with the link.
    return new Promise<never>(() => undefined);
  };
  return (
    <FormDialog title={title} action="Invite" onClose={onClose} onSubmit={submit} explain={errorText}>
      {project === undefined && <p>Administrators of the instance may do anything in any project.</p>}
      {/* Not of type email: browsers refuse addresses with letters beyond ASCII. */}
      <TextField label="E-mail address" name="email" inputMode="email" required autoComplete="off" />
      <TextField label="Name" name="name" autoComplete="off" />
      {project !== undefined && (
        <SelectField label={`Role in ${project}`} name="role" defaultValue="developer" choices={ROLES} />
      )}
    </FormDialog>
  );
}

function Invited({ invited: { person, link } }: { invited: InviteToProjectResult }) {
  if (link === null)
    return (
      <p>
        {person.status === 'invited'
          ? 'The invitation was mailed.'
          : 'They have an account already and can sign in with it.'}
      </p>
    );
  return (
    <div className="grid gap-3">
      <p>Send them this link. It works once, within 7 days, and is not shown again.</p>
      <CodeBlock label="Link" text={link} />
    </div>
  );
}
