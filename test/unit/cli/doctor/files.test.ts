import { expect, test } from 'vitest'
import {
  checkFiles,
  checkKeys,
  type FileInput,
  type KeyInput,
} from '../../../../src/cli/commands/doctor/check-files.ts'
import { problemOf } from '../../../../src/config/yaml/problem.ts'
import { aStrategy } from '../../../support/builders.ts'
import { findings, verdicts } from './verdicts.ts'

const PROBLEM = problemOf({
  file: '/s/a.yaml',
  path: 'amount',
  message: 'no amount',
  expected: 'a decimal',
})

function files(changes: Partial<FileInput> = {}) {
  return checkFiles({
    settings: { file: '/c.yaml', mode: 'live', strategiesDir: '/s' },
    warnings: [],
    strategies: { ok: true, strategies: [aStrategy()], warnings: [] },
    schedules: [],
    modules: [],
    loose: [],
    ...changes,
  })
}

test('readable files that no other user can write pass', () => {
  expect(verdicts(files())).toEqual(['fine config', 'fine strategies', 'fine loose-files'])
})

test.each([
  [
    'a warning of the config',
    { warnings: [PROBLEM] },
    'warning config: /s/a.yaml amount: no amount -> a decimal',
  ],
  [
    'a strategy that cannot be read',
    { strategies: { ok: false, problems: [PROBLEM] } },
    'fault strategies: /s/a.yaml amount: no amount -> a decimal',
  ],
  [
    'a warning of a strategy',
    { strategies: { ok: true, strategies: [aStrategy()], warnings: [PROBLEM] } },
    'warning strategies: /s/a.yaml',
  ],
  [
    'no enabled strategy',
    { strategies: { ok: true, strategies: [aStrategy({ enabled: false })], warnings: [] } },
    'warning strategies: /s: no strategy is enabled',
  ],
  [
    'a time skipped by a clock change',
    { schedules: [{ strategy: 'weekly', message: '02:30 does not exist on 2027-03-28' }] },
    'warning strategies: weekly: 02:30 does not exist',
  ],
  ['a module that does not start', { modules: [PROBLEM] }, 'fault modules: /s/a.yaml'],
  [
    'a loose file',
    {
      loose: [problemOf({ file: '/k', message: 'others may write it', expected: 'chmod go-w /k' })],
    },
    'fault loose-files: /k others may write it -> `chmod go-w /k`',
  ],
] as const)('%s is reported with its location and remedy', (_, changes, message) => {
  expect(findings(files(changes as Partial<FileInput>))).toEqual([expect.stringContaining(message)])
})

test('a loose file does not block a dry-run, and a sandbox is not checked', () => {
  const settings = { file: '/c.yaml', mode: 'dry-run', strategiesDir: '/s' } as const
  expect(verdicts(files({ settings, loose: [PROBLEM] }))).toContain('warning loose-files')
  expect(verdicts(files({ loose: undefined })).join()).not.toContain('loose-files')
})

const SOURCE = { type: 'keystore', keystore: '/k.json', passwordFile: '/k.pass' } as const
const read = (address: `0x${string}`): KeyInput['read'] => ({
  ok: true,
  key: { address },
})

test('two different keys that open pass', () => {
  const keys: KeyInput[] = [
    { wallet: 'trader', source: SOURCE, read: read('0x01') },
    { wallet: 'operator', source: SOURCE, read: read('0x02') },
  ]
  expect(verdicts(checkKeys(keys))).toEqual(['fine key', 'fine key', 'fine shared-key'])
})

test('a shared key, a key that does not open and an absent key are distinguished', () => {
  const keys = (second: KeyInput['read']): KeyInput[] => [
    { wallet: 'trader', source: SOURCE, read: read('0x01') },
    { wallet: 'operator', source: SOURCE, read: second },
  ]
  expect(findings(checkKeys(keys(read('0x01'))))).toEqual([
    expect.stringMatching(
      /^fault shared-key: trader and operator share one key.*`tranched wallet new/,
    ),
  ])
  const problem = problemOf({
    file: '/c.yaml',
    message: '/k.json can be read or written by others',
    expected: 'chmod 600 /k.json',
  })
  expect(findings(checkKeys(keys({ ok: false, problem })))).toEqual([
    'fault key: operator: /k.json can be read or written by others -> `chmod 600 /k.json`',
  ])
  expect(findings(checkKeys(keys({ ok: 'unset', name: 'OPERATOR_KEY' })))).toEqual([
    expect.stringMatching(
      /^unknown key: operator: environment variable OPERATOR_KEY is not set here/,
    ),
  ])
})
