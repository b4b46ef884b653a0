import type { Account } from 'posthorn-client';
import type { ReactNode } from 'react';
import { apiOf } from '../../data/session.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Dialog } from '../../ui/controls/dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

interface Props {
  account: Account;
  onClose(): void;
}

export function EditAccount({ account, onClose }: Props) {
  const save = async (form: FormData) => {
    const { email, link } = await apiOf().people.updateAccount(account.uid, {
      name: formText(form, 'name'),
      instance_admin: form.get('admin') !== null,
      email: formText(form, 'email'),
    });
    if (link === null) return undefined;
    return (
      <LinkDialog email={email} link={link} within="7 days" onClose={onClose}>
        The password, second factor and sessions of the account are removed, because others may have set them
        up.
      </LinkDialog>
    );
  };
  return (
    <ActDialog title={`Edit ${account.email}`} action="Save" onClose={onClose} onSubmit={save}>
      <TextField
        label="Email address"
        name="email"
        inputMode="email"
        required
        defaultValue={account.email}
        hint="A new email address removes the password. You get a link for its owner."
      />
      <TextField label="Name" name="name" defaultValue={account.name} />
      <Check
        label="Administrator of the instance"
        hint="May do anything in any project."
        name="admin"
        defaultChecked={account.instance_admin}
      />
    </ActDialog>
  );
}

interface LinkProps {
  email: string;
  link: string;
  within: string;
  onClose(): void;
  /** Why they need it. */
  children?: ReactNode;
}

function LinkDialog({ email, link, within, onClose, children }: LinkProps) {
  return (
    <Dialog title={`A link for ${email}`} onClose={onClose}>
      <div className="grid gap-3">
        {children !== undefined && <p>{children}</p>}
        <p>Send them this link. It works once, within {within}, and is not shown again.</p>
        <CodeBlock label="Link" text={link} />
      </div>
    </Dialog>
  );
}

/** A link for a new password. Those who have it can sign in as the person. */
export function MakeLink({ account, onClose }: Props) {
  const make = async (form: FormData) => {
    const { link } = await apiOf().people.createSignInLink({
      email: account.email,
      purpose: 'reset',
      remove_second_factor: form.get('factor') !== null,
    });
    return <LinkDialog email={account.email} link={link} within="an hour" onClose={onClose} />;
  };
  return (
    <ActDialog
      title={`Reset the password of ${account.email}`}
      action="Make link"
      onClose={onClose}
      onSubmit={make}
    >
      <p>The link lets them choose a new password. All of their sessions end when they use it.</p>
      {account.second_factor && (
        <Check
          label="Also remove the second factor"
          hint="For a person who has lost the app and the recovery codes."
          name="factor"
        />
      )}
    </ActDialog>
  );
}

export function SetActive({ account, onClose }: Props) {
  const isActive = account.status !== 'deactivated';
  const word = isActive ? 'Deactivate' : 'Activate';
  return (
    <ActDialog
      title={`${word} ${account.email}`}
      action={`${word} ${account.email}`}
      danger={isActive}
      onClose={onClose}
      onSubmit={() => apiOf().people.updateAccount(account.uid, { is_active: !isActive })}
    >
      <p>
        {isActive
          ? 'All of their sessions and links end at once, and they cannot sign in. Their roles stay.'
          : 'They can sign in again, with the roles that they had.'}
      </p>
    </ActDialog>
  );
}
