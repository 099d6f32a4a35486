import { expect, test } from 'vitest'
import { complete } from '../../../../src/cli/completion/candidates.ts'
import { leaves, theProgram } from './program.ts'

const NAMES = ['weekly-eth', 'dip-eth']
const PAIRS = ['WETH/USDC', 'DAI/USDC']

/** What may stand where the last word ends; of words, their values. */
function completed(line: string): readonly string[] | string {
  const words = line.split(' ')
  const completion = complete(theProgram(), words, (_, what) => (what === 'pair' ? PAIRS : NAMES))
  if (completion.kind !== 'words') return completion.kind
  return completion.candidates.map(({ value }) => value)
}

test('a first word is a command, and a second one of those below it', () => {
  expect(completed('')).toEqual(expect.arrayContaining(['run', 'status', 'completion']))
  expect(completed('')).not.toContain('complete')
  expect(completed('re')).toEqual(['resume', 'reload', 'report'])
  expect(completed('approvals ')).toEqual(['list', 'revoke', 'help'])
})

test('options are those of the command, once a dash is typed', () => {
  expect(completed('plan --s')).toEqual(['--state-dir', '--strategies-dir', '--slots'])
  expect(completed('state backup --arch')).toEqual([])
  expect(completed('state verify --arch')).toEqual(['--archive'])
})

test.each(['trigger', 'pause', 'plan', 'why', 'settle', 'history --strategy', 'plan --slots 3'])(
  'after %s a strategy is named',
  (words) => {
    expect(completed(`${words} `)).toEqual(NAMES)
    expect(completed(`${words} week`)).toEqual(['weekly-eth'])
  },
)

test('where a command has strategies and commands below it, both are offered as its first word', () => {
  expect(completed('backtest ')).toEqual([...NAMES, 'fetch', 'replay'])
  expect(completed('backtest weekly-eth ')).toEqual(NAMES)
  expect(completed('backtest replay ')).toEqual(NAMES)
  expect(completed('backtest fetch ')).toEqual(PAIRS)
  expect(completed('backtest fetch --prices ')).toBe('directories')
})

test('the names are looked for where the line says that the strategies are', () => {
  const asked: unknown[] = []
  const words = ['trigger', '--config', 'a.yaml', '--json', '--strategies-dir', 'mine', '']
  complete(theProgram(), words, (typed) => {
    asked.push(typed)
    return []
  })
  expect(asked).toEqual([{ config: 'a.yaml', strategiesDir: 'mine' }])
})

test('choices, files and directories are offered where one is expected, and nothing where none is', () => {
  expect(completed('export --format c')).toEqual(['csv', 'cointracking'])
  expect(completed('completion ')).toEqual(['bash', 'zsh', 'fish'])
  expect(completed('run --config ')).toBe('files')
  expect(completed('run --state-dir conf')).toBe('directories')
  expect(completed('run --for ')).toEqual([])
  expect(completed('gastank deposit ')).toEqual([])
})

test('no command line makes it fail', () => {
  for (const [words, command] of leaves(theProgram()))
    for (const { long } of command.options) {
      completed(`${words} ${long} `)
      completed(`${words} ${long} x y -`)
    }
  expect(completed('no such command ')).toEqual([])
})
