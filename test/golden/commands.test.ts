import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allPrintedBy, folderWith, printedBy } from './folder.ts'

/**
 * Guards the output of commands, as text and under `--json`, with exit codes, over one state directory and config at a fixed time.
 * No node or service of the config is reachable. `ps` is left out because it lists every daemon of the machine.
 *
 * To change a text on purpose: run `npx vitest run test/golden -u` and read the diff. JSON fields and exit codes stay.
 */

const BOTH = [
  'validate',
  'status',
  'history',
  'history --limit 2 --strategy poke',
  'why weekly-eth:1799913600',
  'why poke:1799913600 --raw',
  'why weekly-eth',
  'report',
  'report --by strategy',
  'report --by token --since 2027-01-14',
  'plan',
  'plan ladder --utc',
  'approve',
  'approvals list',
  'delegation status',
  'gastank status',
  'settle weekly-eth:1799924400:0',
  'state verify',
  'notify test',
  'quote weekly-eth',
]
const TEXT = [
  ...BOTH,
  'report --csv',
  'export',
  'export --format jsonl',
  'export --format koinly',
  'export --format cointracking',
  'why weekly-eth:7',
  'validate --no-keys',
]
const JSON_ONLY = [...BOTH.map((line) => `${line} --json`), 'export --json']
/** These write to the state: the records they append are compared too. */
const WRITING = [
  'state rebuild --json',
  'state verify',
  'pause weekly-eth',
  'pause --json',
  'resume weekly-eth',
  'approve ladder --json',
  'resume',
  'trigger slices',
  'reload --json',
  'approvals revoke --all --json',
  'state accept-loss --json',
  'history --limit 3',
  'backtest --from 2026-01-01 --to 2026-01-02 --balance USDC=1000 --market 7',
]

test.each(['live', 'dry-run'] as const)('text of commands over a state of %s', async (mode) => {
  const text = await allPrintedBy(folderWith(mode), TEXT)
  await expect(text).toMatchFileSnapshot(`data/${mode}.commands.txt`)
})

test.each(['live', 'dry-run'] as const)('JSON of commands over a state of %s', async (mode) => {
  const text = await allPrintedBy(folderWith(mode), JSON_ONLY)
  await expect(text).toMatchFileSnapshot(`data/${mode}.commands-json.txt`)
})

test('doctor, without its checks of the machine', async () => {
  const text = await printedBy(folderWith('live'), 'doctor')
  const known = text.replace(/\ndisk\n[\s\S]*\nnotifications\n/, '\nnotifications\n')
  await expect(known.replace(/\d+ checks: .*/, '')).toMatchFileSnapshot('data/doctor.txt')
})

test('halt and resume', async () => {
  const text = await allPrintedBy(folderWith('live'), [
    'halt',
    'halt --json',
    'status',
    'status --json',
    'resume --json',
  ])
  const known = text.replaceAll(/halted by \S+ at/g, 'halted by <user> at')
  await expect(known).toMatchFileSnapshot('data/halt.txt')
})

test('commands that write to the state', async () => {
  const dir = folderWith('live')
  const text = await allPrintedBy(dir, WRITING)
  const journal = readFileSync(join(dir, 'state/journal/000000000001.jsonl'), 'utf8')
  const before = readFileSync('test/golden/data/live.jsonl', 'utf8')
  expect(journal.startsWith(before)).toBe(true)
  await expect(text + journal.slice(before.length)).toMatchFileSnapshot('data/writing.txt')
})
