import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { InitData } from '../../../../src/cli/json/author-outputs.ts'
import { outputOf } from '../../../support/output-of.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { initFor } from './init-fixture.ts'

const SECRETS = [
  ...['keys/trader.json', 'keys/trader.pass', 'data/live/state.json', 'config/x.pass'],
  ...['trader.anchor', 'elsewhere/trader.anchor', '.env'],
]
const RULES = ['keys/', 'data/', '*.pass', '*.anchor', '.env']

/** The files that git would commit. */
function committable(dir: string): readonly string[] {
  execFileSync('git', ['init', '--quiet'], { cwd: dir })
  return SECRETS.filter((file) => {
    try {
      execFileSync('git', ['check-ignore', '--quiet', file], { cwd: dir })
      return false
    } catch {
      return true
    }
  })
}

async function initBeside(present: string) {
  const dir = temporaryDirectory()
  const file = join(dir, '.gitignore')
  writeFileSync(file, present)
  const { stdout } = await initFor({ dir, json: true })
  const { appended, kept } = outputOf<InitData>('init', stdout)
  return { dir, appended, kept, text: readFileSync(file, 'utf8') }
}

test('a new .gitignore ignores keys, state, passwords, anchors and .env', async () => {
  const dir = temporaryDirectory()
  expect(committable(dir)).toEqual(SECRETS)
  const { stdout } = await initFor({ dir, json: true })
  const { written, appended } = outputOf<InitData>('init', stdout)
  expect(written).toContain('.gitignore')
  expect(appended).toEqual([])
  expect(committable(dir)).toEqual([])
})

test.each([
  ['that is empty', '', RULES],
  ['of an earlier version', 'keys/\ndata/\n', ['*.pass', '*.anchor', '.env']],
  ['without a final newline', 'node_modules', RULES],
  ['with CRLF line ends', 'keys\r\ndata\r\n', ['*.pass', '*.anchor', '.env']],
  ['with comments and similar names only', '# keys/\n#data/\nkeys.txt\nmy-data/\n', RULES],
  [
    'that ignores the contents but not the folder',
    'keys/*\n!keys/trader.json\n/data/\n',
    ['keys/', ...RULES.slice(2)],
  ],
  ['whose negations undo its rules', `${RULES.join('\n')}\n*\n!*/\n!*.md\n`, RULES],
  [
    'that re-includes single paths',
    [...RULES, '!keys/', '!config/x.pass', '!.env'].join('\n'),
    ['keys/', '*.pass', '.env'],
  ],
])(
  'a .gitignore %s gets the missing rules, and the output lists them',
  async (_, present, appended) => {
    const done = await initBeside(present)
    expect(done.appended).toEqual(appended)
    expect(done.text.startsWith(present)).toBe(true)
    expect(done.text.split(/\r?\n/)).toEqual(expect.arrayContaining(present.split(/\r?\n/)))
    expect(committable(done.dir)).toEqual([])
    const again = await initFor({ dir: done.dir, json: true })
    expect(outputOf('init', again.stdout)).toMatchObject({ appended: [] })
  },
)

test('a .gitignore that covers all secrets under other patterns is kept', async () => {
  const present = '/keys\n**/data/\n**/*.pass\n*.anchor\n.env*\n!.env.example\n'
  const { appended, kept, text, dir } = await initBeside(present)
  expect(appended).toEqual([])
  expect(kept).toContain('.gitignore')
  expect(text).toBe(present)
  expect(committable(dir)).toEqual([])
})

test('text output lists the added lines', async () => {
  const dir = temporaryDirectory()
  writeFileSync(join(dir, '.gitignore'), 'keys/\ndata/\n')
  const { stdout } = await initFor({ dir })
  expect(stdout).toMatch(/^ {2}added +to \.gitignore: \*\.pass \*\.anchor \.env$/m)
})
