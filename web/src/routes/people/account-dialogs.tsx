import { useQueryClient } from '@tanstack/react-query';
import type { Account } from 'posthorn-client';
import { type ReactNode, useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { apiOf } from '../../data/session.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

interface Props {
  account: Account;
  onClose(): void;
}

export function EditAccount({ account, onClose }: Props) {
  const queries = useQueryClient();
  const [saved, setSaved] = useState<{ email: string; link: string }>();
  if (saved !== undefined)
    return (
      <LinkDialog email={saved.email} link={saved.link} within="7 days" onClose={onClose}>
        The password, second factor and sessions of the account are removed, because others may have set them
        up.
      </LinkDialog>
    );
  const save = async (form: FormData): Promise<void> => {
    const { email, link } = await apiOf().people.updateAccount(account.uid, {
      name: formText(form, 'name'),
      instance_admin: form.get('admin') !== null,
      email: formText(form, 'email'),
    });
    if (link === null) return queries.invalidateQueries();
    void queries.invalidateQueries();
    setSaved({ email, link });
    // The dialog stays open with the link.
    return new Promise<never>(() => undefined);
  };
  return (
    <FormDialog
      title={`Edit ${account.email}`}
      action="Save"
      onClose={onClose}
      onSubmit={save}
      explain={errorText}
    >
      <TextField
        label="E-mail address"
        name="email"
        inputMode="email"
        required
        defaultValue={account.email}
        hint="A new address of another person removes the password. You get a link for its owner."
      />
      <TextField label="Name" name="name" defaultValue={account.name} />
      <Check
        label="Administrator of the instance"
        hint="May do anything in any project."
        name="admin"
        defaultChecked={account.instance_admin}
      />
    </FormDialog>
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
  const queries = useQueryClient();
  const [link, setLink] = useState<string>();
  if (link !== undefined)
    return <LinkDialog email={account.email} link={link} within="an hour" onClose={onClose} />;
  const make = async (form: FormData): Promise<never> => {
    const made = await apiOf().people.createSignInLink({
      email: account.email,
      purpose: 'reset',
      remove_second_factor: form.get('factor') !== null,
    });
    void queries.invalidateQueries();
    setLink(made.link);
    // The dialog stays open with the link.
    return new Promise<never>(() => undefined);
  };
  return (
    <FormDialog
      title={`Reset the password of ${account.email}`}
      action="Make link"
      onClose={onClose}
      onSubmit={make}
      explain={errorText}
    >
      <p>The link lets them choose a new password. All of their sessions end when they use it.</p>
      {account.second_factor && (
        <Check
          label="Also remove the second factor"
          hint="For a person who has lost the app and the recovery codes."
          name="factor"
        />
      )}
    </FormDialog>
  );
}

export function SetActive({ account, onClose }: Props) {
  const queries = useQueryClient();
  const isActive = account.status !== 'deactivated';
  const word = isActive ? 'Deactivate' : 'Activate';
  const set = async () => {
    await apiOf().people.updateAccount(account.uid, { is_active: !isActive });
    await queries.invalidateQueries();
  };
  return (
    <FormDialog
      title={`${word} ${account.email}`}
      action={`${word} ${account.email}`}
      danger={isActive}
      onClose={onClose}
      onSubmit={set}
      explain={errorText}
    >
      <p>
        {isActive
          ? 'All of their sessions and links end at once, and they cannot sign in. Their roles stay.'
          : 'They can sign in again, with the roles that they had.'}
      </p>
    </FormDialog>
  );
}
