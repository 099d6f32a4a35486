import { resolve } from 'node:path'
import { type ConfigDocument, withText } from '../../config/yaml/document.ts'
import { type Problem, problemOf } from '../../config/yaml/problem.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { SETTING_ROWS, type Setting, type TypedFlag } from './flags.ts'

/** Stands in for the file's name in problems with a flag. */
const FLAG_ORIGIN = 'flag '

/** Whether the problem is in a flag, not in the file. */
export function isOfFlag(problem: Problem): boolean {
  return problem.file.startsWith(FLAG_ORIGIN)
}

/** Flags override the file. The last of a repeated flag counts. */
export function withFlags(
  document: ConfigDocument,
  typed: readonly TypedFlag[],
): { readonly document: ConfigDocument; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  let changed = document
  for (const { flag, text } of typed) {
    const meant = meantBy(flag, text)
    if (!meant.ok) problems.push(meant.problem)
    else
      changed = withText(changed, {
        path: meant.row.path.split('.'),
        text: meant.row.value === 'file' && meant.text !== '' ? resolve(meant.text) : meant.text,
        origin: `${FLAG_ORIGIN}${flag}`,
      })
  }
  return { document: changed, problems }
}

type Meant =
  | { readonly ok: true; readonly row: Setting; readonly text: string }
  | { readonly ok: false; readonly problem: Problem }

/** The setting of a flag. If several settings share it, the word before `=` selects one. */
function meantBy(flag: string, text: string): Meant {
  const rows = SETTING_ROWS.filter((row) => row.flag === flag)
  const [row] = rows
  if (row === undefined) throw new Error(`no setting has the flag ${flag}`)
  if (row.entry === undefined) return { ok: true, row, text }
  const [, named = text, value] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  const found = value === undefined ? undefined : rows.find(({ entry }) => entry === named)
  if (found !== undefined && value !== undefined) return { ok: true, row: found, text: value }
  const entries = rows.map(({ entry = '' }) => entry)
  const problem = problemOf({
    file: `${FLAG_ORIGIN}${flag}`,
    message: value === undefined ? 'this has no `=`' : 'nothing has this name',
    expected: `${row.value} such as ${row.entry}=${row.byDefault}, the first word one of: ${entries.join(', ')}`,
  })
  const suggestion = nearest(named, entries)
  return { ok: false, problem: suggestion === undefined ? problem : { ...problem, suggestion } }
}
