import { expect, test } from 'vitest'
import { complete } from '../../../../src/cli/completion/candidates.ts'
import { leaves, theProgram } from './program.ts'

const NAMES = ['weekly-eth', 'dip-eth']
const PAIRS = ['WETH/USDC', 'DAI/USDC']

/** The values offered at the end of the line, or the kind of completion. */
function completed(line: string): readonly string[] | string {
  const words = line.split(' ')
  const completion = complete(theProgram(), words, (_, what) => (what === 'pair' ? PAIRS : NAMES))
  if (completion.kind !== 'words') return completion.kind
  return completion.candidates.map(({ value }) => value)
}

test('the first word completes to commands, and the second to their subcommands', () => {
  expect(completed('')).toEqual(expect.arrayContaining(['run', 'status', 'completion']))
  expect(completed('')).not.toContain('complete')
  expect(completed('re')).toEqual(['resume', 'reload', 'report'])
  expect(completed('approvals ')).toEqual(['list', 'revoke', 'help'])
})

test('options of the command complete after a dash', () => {
  expect(completed('plan --s')).toEqual(['--state-dir', '--strategies-dir', '--slots'])
  expect(completed('state backup --arch')).toEqual([])
  expect(completed('state verify --arch')).toEqual(['--archive'])
})

test.each(['trigger', 'pause', 'plan', 'why', 'settle', 'history --strategy', 'plan --slots 3'])(
  'a strategy name completes after %s',
  (typed) => {
    expect(completed(`${typed} `)).toEqual(NAMES)
    expect(completed(`${typed} week`)).toEqual(['weekly-eth'])
  },
)

test('a command with strategies and subcommands offers both', () => {
  expect(completed('backtest ')).toEqual([...NAMES, 'fetch', 'replay'])
  expect(completed('backtest weekly-eth ')).toEqual(NAMES)
  expect(completed('backtest replay ')).toEqual(NAMES)
  expect(completed('backtest fetch ')).toEqual(PAIRS)
  expect(completed('backtest fetch --prices ')).toBe('directories')
})

test('strategy names come from the folder named on the line', () => {
  const lookups: unknown[] = []
  const words = ['trigger', '--config', 'a.yaml', '--json', '--strategies-dir', 'mine', '']
  complete(theProgram(), words, (typed) => {
    lookups.push(typed)
    return []
  })
  expect(lookups).toEqual([{ config: 'a.yaml', strategiesDir: 'mine' }])
})

test('choices, files and directories complete if expected, and nothing otherwise', () => {
  expect(completed('export --format c')).toEqual(['csv', 'cointracking'])
  expect(completed('completion ')).toEqual(['bash', 'zsh', 'fish'])
  expect(completed('run --config ')).toBe('files')
  expect(completed('run --state-dir conf')).toBe('directories')
  expect(completed('run --for ')).toEqual([])
  expect(completed('gastank deposit ')).toEqual([])
})

test('no command line throws', () => {
  for (const [name, command] of leaves(theProgram()))
    for (const { long } of command.options) {
      completed(`${name} ${long} `)
      completed(`${name} ${long} x y -`)
    }
  expect(completed('no such command ')).toEqual([])
})
