import { expect, test } from 'vitest'
import { plainHalt } from '../../../../src/cli/process/plain-halt.ts'
import { targeted } from '../../../../src/cli/program/program.ts'
import { theProgram } from './program.ts'

const LINES = [
  [],
  ['--json'],
  ['--state-dir', '/srv/state'],
  ['--config', 'live.yaml'],
  ['--config', 'live.yaml', '--state-dir', 'state', '--json'],
  ['--config', 'a.yaml', '--config', 'b.yaml'],
  ['--state-dir', ''],
  ['--state-dir', 'has=sign'],
]
const ENVIRONMENTS = [
  {},
  { TRANCHED_CONFIG: 'other.yaml' },
  { TRANCHED_STATE_DIR: '/srv/other', TRANCHED_CONFIG: '' },
]

test('a plain halt has the options that the parser finds', async () => {
  for (const env of ENVIRONMENTS)
    for (const words of LINES) {
      const command = theProgram('halt', env).commands.find((each) => each.name() === 'halt')
      command?.action(() => undefined)
      await command?.parseAsync(words, { from: 'user' })
      const parsed = command && targeted(command, { env })
      expect([words, env, plainHalt(['halt', ...words], { env })]).toEqual([words, env, parsed])
    }
})

test('any other command line is left to the parser', () => {
  const others = [
    ['resume'],
    ['halt', 'now'],
    ['halt', '--help'],
    ['halt', '--state-dir'],
    ['halt', '--state-dir', '--json'],
    ['halt', '--state-dir=/srv/state'],
    ['halt', '--json', '--http-port', '1'],
    ['--json', 'halt'],
    [],
  ]
  for (const words of others)
    expect([words, plainHalt(words, { env: {} })]).toEqual([words, undefined])
})
