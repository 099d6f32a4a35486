import { encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { SANDBOX_TEMPLATE } from '../../../src/sandbox/template.ts'
import type { CallStrategy } from '../../../src/strategies/call/call-kind.ts'
import {
  brief,
  CONFIG,
  edit,
  loadTexts,
  plain,
  settingsOf,
  strategyProblems,
} from './config-fixture.ts'

const TARGET = '0x00000000000000000000000000000000000000c1'
const WITH_AGGREGATOR = edit(
  edit(
    CONFIG,
    'gasless:\n',
    '  sepolia: { chainId: 11155111, rpcUrls: [https://s.example] }\ngasless:\n',
  ),
  'chains:\n',
  '  operator: { privateKeyEnv: OPERATOR_KEY }\nchains:\n',
).concat(`aggregator:
  rpcUrl: https://agg.example
  chain: sepolia
  wallet: operator
  contracts:
    gasTank: 0x0000000000000000000000000000000000000001
    multicall: 0x0000000000000000000000000000000000000002
    trustedProposer: 0x0000000000000000000000000000000000000003
    trustlessProposer: 0x0000000000000000000000000000000000000004
  targets: { claims: "${TARGET}" }
`)
const SETTINGS = settingsOf(WITH_AGGREGATOR)
const BENEFICIARY = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

const CALL = `name: claim-weekly
kind: call
schedule: { cron: "0 9 * * 1" }
to: ${TARGET}
function: claim(address)
args: ["${BENEFICIARY}"]
gasLimit: 150000
`

function calling(signature: string, args: string): string {
  const named = edit(CALL, 'claim(address)', JSON.stringify(signature))
  return edit(named, `["${BENEFICIARY}"]`, args)
}

function callOf(text: string, settings = SETTINGS): CallStrategy {
  const loaded = loadTexts({ 'one.yaml': text }, settings)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  const [strategy] = loaded.strategies
  if (strategy?.kind !== 'call') throw new Error('not a call')
  return strategy
}

/** `line:column path: message` of each warning; the file must load. */
function warnings(text: string): readonly string[] {
  const loaded = loadTexts({ 'one.yaml': text }, SETTINGS)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.warnings.map(brief)
}

const faults = (text: string, settings = SETTINGS) => strategyProblems(text, settings).map(brief)

test('a call has the target, calldata and caps of its file', () => {
  const text = `${CALL}value: "0.01"\nlimits: { perDay: "0.05", total: 1, cooldown: 1h, maxOpenIntents: 1 }\n`
  expect(callOf(text)).toMatchObject({
    kind: 'call',
    name: 'claim-weekly',
    enabled: true,
    target: TARGET,
    calldata: encodeFunctionData({
      abi: parseAbi(['function claim(address)']),
      args: [BENEFICIARY],
    }),
    value: 10n ** 16n,
    gasLimit: 150_000n,
    label: 'claim(address)',
    shown: `claim(${BENEFICIARY}) of ${TARGET}`,
    limits: {
      perDay: new Map([[NATIVE_TOKEN, 5n * 10n ** 16n]]),
      total: new Map([[NATIVE_TOKEN, 10n ** 18n]]),
      cooldownMs: 3_600_000,
      maxOpenIntents: 1,
    },
  })
})

test('ether is sent without a function, and a call without a value carries none', () => {
  const bare = edit(edit(CALL, 'function: claim(address)\n', ''), `args: ["${BENEFICIARY}"]\n`, '')
  const sends = callOf(`${bare}value: 0.5\nlimits: { perDay: "1" }\n`)
  expect(sends).toMatchObject({
    calldata: '0x',
    value: 5n * 10n ** 17n,
    label: 'transfer',
    shown: `transfer to ${TARGET}`,
  })
  expect(callOf(CALL).value).toBe(0n)
  expect(warnings(`${bare}value: "0"\n`)).toEqual([
    '6:8 value: this sends nothing and calls nothing',
  ])
})

test('a call is shown with its arguments, lists in brackets and long ones cut', () => {
  const called = (of: string, args: string) =>
    callOf(
      [
        [TARGET, 'claims'],
        ['claim(address)', of],
        [`["${BENEFICIARY}"]`, args],
      ].reduce((text, [from = '', to = '']) => edit(text, from, to), CALL),
    ).shown
  expect(called('f((uint256,bool) order, uint8[] kinds)', '[[7, false], [1, 2]]')).toBe(
    'f([7, false], [1, 2]) of claims',
  )
  expect(called('f(string)', `["${'a\\n'.repeat(200)}"]`)).toBe(`f(${'a '.repeat(100)}…) of claims`)
})

describe('arguments are typed by the signature', () => {
  test.each([
    ['f(uint256)', '[9007199254740993]', [9007199254740993n]],
    [
      'f(uint)',
      '["115792089237316195423570985008687907853269984665640564039457584007913129639935"]',
      [2n ** 256n - 1n],
    ],
    ['f(int128)', '[-170141183460469231731687303715884105728]', [-(2n ** 127n)]],
    ['f(uint8 kind, bool on)', '[0xff, true]', [255n, true]],
    ['f(bytes,bytes4)', '["0x", 0xDEADBEEF]', ['0x', '0xdeadbeef']],
    ['f(string)', '["Grüße, 1"]', ['Grüße, 1']],
    ['f(uint256[])', '[[1, 2, 3]]', [[1n, 2n, 3n]]],
    [
      'f(uint256[2][])',
      '[[[1, 2], [3, 4]]]',
      [
        [
          [1n, 2n],
          [3n, 4n],
        ],
      ],
    ],
    ['f(address[])', '[[]]', [[]]],
    [
      'f((uint256 amount,(bool,string) memo) order, address to)',
      `[[7, [false, x]], ${TARGET}]`,
      [[7n, [false, 'x']], TARGET],
    ],
    [
      'f((address,uint256)[])',
      `[[[${TARGET}, 1], [${TARGET}, 2]]]`,
      [
        [
          [TARGET, 1n],
          [TARGET, 2n],
        ],
      ],
    ],
    ['function f()', '[]', []],
  ])('%s accepts %s', (signature, args, values) => {
    // Without parameter names, so that the reference encoder accepts tuples as lists.
    const unnamed = signature.replace(/ (kind|on|amount|memo|order|to)\b/g, '')
    const abi = parseAbi([`function ${unnamed.replace('function ', '')}`] as readonly string[])
    const expected = encodeFunctionData({ abi, functionName: 'f', args: values } as never)
    expect(callOf(calling(signature, args)).calldata).toBe(expected)
  })

  test.each([
    ['f(address,uint256)', `[${TARGET}, lots]`, 'args[1]: uint256 expected'],
    ['f(uint256)', '[1.5]', 'args[0]: uint256 expected'],
    ['f(uint256)', '[1e18]', 'args[0]: uint256 expected'],
    ['f(uint256)', '[-1]', 'args[0]: uint256 expected'],
    ['f(uint8)', '[256]', 'args[0]: uint8 expected'],
    ['f(int8)', '[128]', 'args[0]: int8 expected'],
    ['f(bool)', '[yes]', 'args[0]: bool expected'],
    ['f(bytes)', '[0xabc]', 'args[0]: bytes expected'],
    ['f(bytes4)', '[0xabcd]', 'args[0]: bytes4 expected'],
    ['f(string)', '[]', 'args: f(string) takes 1 values, and 0 are given'],
    ['f(string)', '[~]', 'args[0]: string expected'],
    ['f(uint256[])', '[7]', 'args[0]: uint256[] expected'],
    ['f(uint256[2])', '[[1]]', 'args[0]: uint256[2] takes 2 values, and 1 are given'],
    ['f((uint256,bool))', '[[1, maybe]]', 'args[0][1]: bool expected'],
    ['f((uint256,bool))', '[{ a: 1, b: true }]', 'args[0]: (uint256,bool) expected'],
    ['f(address)', '["0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914"]', 'args[0]: address expected'],
  ])('%s rejects %s', (signature, args, message) => {
    const [first, ...rest] = faults(calling(signature, args))
    expect(first?.replace(/^\d+:\d+ /, '')).toBe(message)
    expect(rest).toEqual([])
  })

  test('the caret marks the wrong argument', () => {
    const [problem] = strategyProblems(calling('f(uint256,uint256)', '[1, two]'), SETTINGS)
    expect(problem && plain(problem)).toBe(
      'strategies/one.yaml:6:11 args[1]: uint256 expected\n' +
        '  5 | function: "f(uint256,uint256)"\n' +
        '  6 | args: [1, two]\n' +
        '    |           ^^^\n' +
        '  expected: a whole number from 0 to 2^256 - 1',
    )
  })
})

describe('an invalid signature is marked at its fault', () => {
  test.each([
    ['claim(adress)', 6, 'there is no such type'],
    ['claim(address', 12, 'a `,` or `)` is missing here'],
    ['claim', 4, 'a `(` is missing here'],
    ['(address)', 0, 'a function name is missing here'],
    ['claim(address,)', 14, 'a type is missing here'],
    ['claim(uint7)', 6, 'there is no such type'],
    ['claim(bytes33)', 6, 'there is no such type'],
    ['claim(address) external', 15, 'nothing may follow the closing parenthesis'],
    ['claim(address[0])', 13, 'a `,` or `)` is missing here'],
    [`claim(${'('.repeat(12)}`, 14, 'tuples are nested too deeply here'],
  ])('%s', (signature, offset, message) => {
    const text = edit(CALL, 'function: claim(address)', `function: ${signature}`)
    const column = 'function: '.length + 1 + offset
    expect(faults(text)).toEqual([`5:${column} function: ${message}`])
  })
})

describe('rejected by the config', () => {
  test('a target that is not listed, naming the key that lists targets', () => {
    const [problem] = strategyProblems(edit(CALL, TARGET, BENEFICIARY), SETTINGS)
    expect(problem && brief(problem)).toBe(
      '4:5 to: the config does not allow calls to this contract',
    )
    expect(problem?.expected).toMatch(/aggregator\.targets/)
  })

  test('an unknown target name, suggesting the nearest', () => {
    const [problem] = strategyProblems(edit(CALL, TARGET, 'claim'), SETTINGS)
    expect(problem && brief(problem)).toBe(
      '4:5 to: nothing under `aggregator.targets` has this name',
    )
    expect(problem).toMatchObject({ suggestion: 'claims' })
  })

  test('an enabled call without the service; a disabled call may precede it', () => {
    expect(faults(CALL, settingsOf())).toEqual([
      '2:7 kind: calls go through the aggregation service, and the config has no `aggregator`',
    ])
    expect(faults(`${CALL}enabled: false\n`, settingsOf())).toEqual([])
  })

  test('a disabled call to another target, with a warning only', () => {
    const text = `${edit(CALL, TARGET, BENEFICIARY)}enabled: false\n`
    expect(warnings(text)).toEqual(['4:5 to: the config does not allow calls to this contract'])
  })

  test('a value above a cap, which would skip every slot', () => {
    expect(faults(`${CALL}value: "0.2"\nlimits: { perDay: "0.1", total: "0.15" }\n`)).toEqual([
      '8:8 value: this call could never run: it carries more than limits.perDay allows',
      '8:8 value: this call could never run: it carries more than limits.total allows',
    ])
  })

  test('a value without any cap causes a warning', () => {
    expect(warnings(`${CALL}value: "0.2"\n`)).toEqual([
      '8:8 value: nothing caps what this strategy sends in a day',
    ])
  })

  test('missing, unknown and out-of-range keys are errors', () => {
    expect(faults(edit(CALL, 'gasLimit: 150000', 'gasLimit: 20999'))).toEqual([
      '7:11 gasLimit: this number is out of range',
    ])
    expect(faults(edit(CALL, 'gasLimit: 150000\n', ''))).toEqual([
      '1:1 gasLimit: this key is missing',
    ])
    expect(faults(`${CALL}slippageBps: 50\n`)).toEqual(['8:1 slippageBps: unknown key'])
    expect(faults(`${CALL}value: "-1"\n`)).toEqual([
      '8:8 value: this is not a plain amount of ether',
    ])
    expect(faults(`${CALL}value: "0.0000000000000000001"\n`)).toEqual([
      '8:8 value: this is not a plain amount of ether',
    ])
    expect(faults(edit(CALL, 'function: claim(address)\n', ''))).toEqual([
      '5:1 args: these arguments have no function',
    ])
    expect(faults(`${CALL}limits: { perDay: "0.0000000000000000001" }\n`)).toEqual([
      '8:19 limits.perDay: this amount has more decimal places than ETH',
    ])
  })
})

test("the sandbox's demo target needs no config entry", () => {
  const settings = settingsOf('mode: sandbox\n', { sandbox: SANDBOX_TEMPLATE })
  const target = settings.aggregator?.targets.get('demo')
  expect(target).toMatch(/^0x/)
  for (const to of ['demo', `"${target}"`])
    expect(callOf(edit(CALL, TARGET, to), settings)).toMatchObject({ target })
})

test('32 bytes are an ordinary argument, not a leaked key', () => {
  const root = `0x${'5a'.repeat(32)}`
  const expected = encodeFunctionData({
    abi: parseAbi(['function claim(bytes32 root)']),
    args: [root as `0x${string}`],
  })
  expect(callOf(calling('claim(bytes32)', `["${root}"]`)).calldata).toBe(expected)
})
