import { RATE_LIMIT, type Row, type Rows, TABLE } from './table.ts'

/**
 * Every setting of the sandbox: the source of the flags of `tranched sandbox`, the leaves of its settings file and the table
 * in docs/sandbox.md. Imports no package, because the program reads the flags at every start.
 */
export const SETTING_ROWS = rowsIn(TABLE, [])

export type Setting = ReturnType<typeof settingOf>

function rowsIn(table: Rows, above: readonly string[]): readonly Setting[] {
  return Object.entries(table).flatMap(([key, row]) => {
    const keys = [...above, key]
    return Array.isArray(row) ? [settingOf(keys, row)] : rowsIn(row, keys)
  })
}

function settingOf(keys: readonly string[], [value, byDefault, meaning, ownFlag]: Row) {
  const path = keys.join('.')
  const flag = ownFlag ?? flagOf(path)
  /** For settings that share a flag: the word before `=` that selects one. */
  const entry = flag === RATE_LIMIT ? keys.at(-1) : undefined
  return { path, flag, entry, value, byDefault, meaning }
}

function flagOf(path: string): `--${string}` {
  const words = path.replace(/^(?:gasless|market)\./, '').replaceAll('.', '-')
  return `--${words.replace(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)}`
}

export type TypedFlag = { readonly flag: string; readonly text: string }

/** Each flag once, in the order of the table. `section` is the first key of the path, or empty. */
export function settingFlags() {
  const first = SETTING_ROWS.filter(
    ({ flag }, index) => SETTING_ROWS.findIndex((row) => row.flag === flag) === index,
  )
  return first.map((row) => {
    const { flag, value, path } = row
    return { flag, value, section: /^(.*?)\./.exec(path)?.[1] ?? '', help: helpOf(row) }
  })
}

function helpOf(row: Setting): string {
  const meaning = row.entry === undefined ? lowerFirst(row.meaning) : sharedHelp(row)
  return row.byDefault === '' ? meaning : `${meaning} (default: ${row.byDefault})`
}

function sharedHelp({ flag, entry, byDefault }: Setting): string {
  const entries = SETTING_ROWS.filter((row) => row.flag === flag).map((row) => row.entry)
  return `such as ${entry}=${byDefault}; once for each of ${entries.join(', ')}`
}

/** Help texts start in lower case, except for names in backticks or capitals. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
