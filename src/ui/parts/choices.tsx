import { count } from './wording/amounts.ts'

export function Search(props: {
  title?: string
  /** For uncontrolled fields: the form finds them by this name. */
  field?: string
  value?: string
  placeholder: string
  list?: string
  search?(text: string): void
}) {
  return (
    <label class="field search">
      <span>{props.title ?? 'Search'}</span>
      <input
        type="search"
        data-field={props.field}
        list={props.list}
        value={props.value}
        placeholder={props.placeholder}
        spellcheck={false}
        onInput={({ currentTarget }) => props.search?.(currentTarget.value)}
      />
    </label>
  )
}

export function Select<Value extends string>(props: {
  title: string
  kind?: string
  field?: string
  hidden?: boolean
  options: readonly (readonly [value: Value, text: string])[]
  value?: Value
  choose?(value: Value): void
}) {
  return (
    <label class={`field ${props.kind ?? ''}`} hidden={props.hidden}>
      <span>{props.title}</span>
      <select
        data-field={props.field}
        value={props.value}
        onChange={({ currentTarget }) => props.choose?.(currentTarget.value as Value)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** `12 of 1,000 strategies`. */
export function Shown({ rows, of, what }: { rows: number; of: number; what: string }) {
  return (
    <p class="shown" role="status">
      {rows === of ? count(of) : `${count(rows)} of ${count(of)}`} {what}
    </p>
  )
}
