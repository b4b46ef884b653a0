import { useState } from 'react';
import { Button, buttonLook, IconButton } from '../ui/controls/button.tsx';
import { Dialog, FormDialog } from '../ui/controls/dialog.tsx';
import { Check, SelectField, TextArea, TextField } from '../ui/controls/fields.tsx';
import { FilterBar, FilterSelect, FilterText } from '../ui/controls/filter-controls.tsx';
import { useToast } from '../ui/controls/toast.tsx';
import { Line, LONG, Specimen } from './specimen.tsx';

const CHOICES = [
  ['', 'Any state'],
  ['failed', 'Failed'],
  ['long', LONG],
] as const;

export function ControlParts() {
  return (
    <>
      <Specimen name="Button">{() => <Buttons />}</Specimen>
      <Specimen name="Fields">
        {() => (
          <>
            <TextField label="Name" placeholder="Empty" />
            <TextField label="Name" defaultValue={LONG} hint="A hint says what it means." />
            <TextField label="Address" defaultValue="ftp://" error="Not an http address." />
            <TextField label="Disabled" defaultValue="Cannot be changed" disabled />
            <SelectField label="State" choices={CHOICES} />
            <TextArea label="Body, JSON" defaultValue={'{\n  "order": 7\n}'} />
            <Check label="Ordered" hint="One at a time." defaultChecked />
          </>
        )}
      </Specimen>
      <Specimen name="Filter bar: few, and many with two set">
        {() => (
          <>
            <FilterBar>
              <Filters />
            </FilterBar>
            <FilterBar set={2}>
              {['Customer', 'Event type', 'Text', 'Answer'].map((label, at) => (
                <FilterText key={label} label={label} value={at < 2 ? LONG : ''} onChange={nothing} />
              ))}
            </FilterBar>
          </>
        )}
      </Specimen>
      <Specimen name="Dialog">{() => <Dialogs />}</Specimen>
      <Specimen name="Toast">{() => <Toasts />}</Specimen>
    </>
  );
}

const nothing = (): void => undefined;

function Buttons() {
  return (
    <>
      {(['main', 'plain', 'quiet', 'danger'] as const).map((look) => (
        <Line key={look}>
          <Button look={look}>{look}</Button>
          <Button look={look} icon="again">
            With icon
          </Button>
          <Button look={look} disabled>
            Disabled
          </Button>
          <Button look={look} busy="Saving">
            Save
          </Button>
          <Button look={look} className="h-7">
            In a row
          </Button>
        </Line>
      ))}
      <Line>
        <IconButton icon="cross" label="Close" />
        <a href="#top" className={buttonLook()}>
          A link as a button
        </a>
      </Line>
    </>
  );
}

function Filters() {
  const [text, setText] = useState('');
  const [state, setState] = useState('failed');
  return (
    <>
      <FilterSelect label="State" value={state} onChange={setState} choices={CHOICES} />
      <FilterText label="Customer" value={text} onChange={setText} />
    </>
  );
}

function Dialogs() {
  const [open, setOpen] = useState<'plain' | 'form' | 'danger'>();
  const close = () => setOpen(undefined);
  return (
    <Line>
      <Button onClick={() => setOpen('plain')}>Dialog</Button>
      <Button onClick={() => setOpen('form')}>Form that fails</Button>
      <Button onClick={() => setOpen('danger')}>Danger</Button>
      {open === 'plain' && (
        <Dialog title={LONG} onClose={close}>
          <p>{LONG.repeat(8)}</p>
        </Dialog>
      )}
      {(open === 'form' || open === 'danger') && (
        <FormDialog
          title="Retry deliveries"
          action="Retry 1,284 deliveries"
          danger={open === 'danger'}
          onClose={close}
          explain={String}
          onSubmit={() => Promise.reject(new Error('The endpoint is disabled. Activate it first.'))}
        >
          <TextField label="At most, per second" name="rate" type="number" />
        </FormDialog>
      )}
    </Line>
  );
}

function Toasts() {
  const toast = useToast();
  return (
    <Line>
      <Button onClick={() => toast('Settings saved')}>Plain</Button>
      <Button onClick={() => toast('Paused: deliveries wait', { undo: () => toast('Undone') })}>
        With undo
      </Button>
      <Button onClick={() => toast(LONG.repeat(2), { bad: true })}>Error, long</Button>
    </Line>
  );
}
