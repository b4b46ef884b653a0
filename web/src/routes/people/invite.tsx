import type { InviteToProjectResult } from 'posthorn-client';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Dialog } from '../../ui/controls/dialog.tsx';
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
  const submit = async (form: FormData) => {
    const invited = await invite({
      email: formText(form, 'email'),
      name: formText(form, 'name'),
      role: formText(form, 'role') as Role,
    });
    return (
      <Dialog title={`${invited.person.email} is invited`} onClose={onClose}>
        <Invited invited={invited} />
      </Dialog>
    );
  };
  return (
    <ActDialog title={title} action="Invite" onClose={onClose} onSubmit={submit}>
      {project === undefined && <p>Administrators of the instance may do anything in any project.</p>}
      {/* Not of type email: browsers refuse addresses with letters beyond ASCII. */}
      <TextField label="Email address" name="email" inputMode="email" required autoComplete="off" />
      <TextField label="Name" name="name" autoComplete="off" />
      {project !== undefined && (
        <SelectField label={`Role in ${project}`} name="role" defaultValue="developer" choices={ROLES} />
      )}
    </ActDialog>
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
