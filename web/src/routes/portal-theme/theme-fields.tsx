import type { Project } from 'posthorn-client';
import type { ComponentProps } from 'react';
import { languages } from '../../portal/load-words.ts';
import { SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';

type Theme = Project['config']['portal'];

const nameOf = (language: string): string =>
  new Intl.DisplayNames(['en'], { type: 'language' }).of(language) ?? language;

type Field = ComponentProps<typeof TextField> & {
  name: 'title' | 'logo_url' | 'logo_url_dark' | 'font' | 'accent';
};

const TEXTS: readonly Field[] = [
  { name: 'title', label: 'Title', maxLength: 64, hint: 'Optional. Defaults to Webhooks.' },
  {
    name: 'logo_url',
    label: 'Logo',
    type: 'url',
    placeholder: 'https://example.com/logo.svg',
    hint: 'An https URL. The preview does not load it.',
  },
  {
    name: 'logo_url_dark',
    label: 'Logo in dark mode',
    type: 'url',
    hint: 'Optional. Defaults to the logo above.',
  },
  {
    name: 'font',
    label: 'Font',
    maxLength: 128,
    pattern: '[A-Za-z0-9 _,\\-]*',
    placeholder: 'Georgia, serif',
    hint: 'Fonts of the reader’s device. Defaults to Inter.',
  },
  {
    name: 'accent',
    label: 'Accent colour',
    pattern: '#[0-9a-fA-F]{6}',
    placeholder: '#3b5bdb',
    hint: 'Made darker or lighter where text in it could not be read.',
  },
];

interface Props {
  theme: Theme;
  onChange(patch: Partial<Theme>): void;
}

export function ThemeFields({ theme, onChange }: Props) {
  return (
    <div className="grid content-start gap-4">
      {TEXTS.map((field) => (
        <TextField
          key={field.name}
          {...field}
          value={theme[field.name]}
          onChange={({ target: { value } }) =>
            onChange({ [field.name]: field.name === 'accent' ? value.trim() : value })
          }
        />
      ))}
      <TextField
        label="Corner radius (px)"
        name="radius"
        type="number"
        min="0"
        max="16"
        value={theme.radius}
        onChange={(event) => onChange({ radius: Number(event.target.value) })}
      />
      <SelectField
        label="Colour scheme"
        name="color_scheme"
        value={theme.color_scheme}
        onChange={(event) => onChange({ color_scheme: event.target.value as Theme['color_scheme'] })}
        choices={[
          ['auto', 'As the reader’s system'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
      />
      <SelectField
        label="Language"
        name="language"
        value={theme.language}
        onChange={(event) => onChange({ language: event.target.value })}
        choices={[['', 'As the reader’s browser'], ...languages.map((one) => [one, nameOf(one)] as const)]}
      />
      <TextArea
        label="Origins that may embed it"
        name="frame_origins"
        rows={3}
        placeholder="https://app.example.com"
        defaultValue={theme.frame_origins.join('\n')}
        onChange={(event) =>
          onChange({ frame_origins: event.target.value.split(/\s+/).filter((origin) => origin !== '') })
        }
        hint="One per line. Empty: no page may embed it."
      />
    </div>
  );
}
