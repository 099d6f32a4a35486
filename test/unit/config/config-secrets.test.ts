import { expect, test } from 'vitest'
import { CONFIG, edit, loadTexts, plain, problemsOf, STRATEGY } from './config-fixture.ts'

const KEY = `0x${'c0ffee11'.repeat(8)}`

function allOutput(text: string, rest = {}): string {
  const problems = problemsOf(text, rest)
  expect(problems).not.toEqual([])
  return problems.map(plain).join('\n') + JSON.stringify(problems)
}

test('a private key in the file is rejected by name and masked', () => {
  const [problem] = problemsOf(edit(CONFIG, 'privateKeyEnv: TRADER_KEY', `privateKeyFile: ${KEY}`))
  expect(problem && plain(problem)).toMatchInlineSnapshot(`
    "/etc/tranched/config.yaml:3:29 wallets.trader.privateKeyFile: this is a private key, and it must not stand in a file like this
      2 | wallets:
      3 |   trader: { privateKeyFile: ****************************************************************** }
        |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      expected: a keystore, privateKeyFile or privateKeyEnv; treat this key as leaked"
  `)
})

test.each([
  ['under a key that does not exist', 'privateKeyEnv: TRADER_KEY', `privateKey: ${KEY}`],
  ['without its prefix', 'privateKeyEnv: TRADER_KEY', `privateKeyEnv: a${KEY.slice(3)}`],
  ['as a key of a map', 'privateKeyEnv: TRADER_KEY', `"${KEY}": 1`],
  ['on the line before the mistake', '  trader: {', `  # ${KEY}\n  trader: { colour: red,`],
])('a private key %s is not repeated', (_, from, to) => {
  expect(allOutput(edit(CONFIG, from, to))).not.toContain(KEY.slice(4))
})

test('a private key from a variable is rejected without being shown', () => {
  const text = edit(CONFIG, 'privateKeyEnv: TRADER_KEY', `privateKeyEnv: "\${KEY}"`)
  const output = allOutput(text, { env: { KEY } })
  expect(output).toContain('this is a private key')
  expect(output).toContain(`\${KEY}`)
  expect(output).not.toContain(KEY.slice(4))
})

test.each([
  ['mnemonic: legal winner thank year', 'winner'],
  ['password: hunter2', 'hunter2'],
])('the value of an unknown key with a secret-like name is masked: %s', (line, secret) => {
  expect(allOutput(`${CONFIG}${line}\n`)).not.toContain(secret)
})

test.each([
  ['a recovery phrase', `${'abandon '.repeat(11)}about`],
  ['a key in base64', Buffer.from(KEY.slice(2), 'hex').toString('base64')],
])('%s is masked under any key', (_, secret) => {
  const output = allOutput(edit(CONFIG, 'privateKeyEnv: TRADER_KEY', `colour: "${secret}"`))
  expect(output).toContain('colour')
  expect(output).not.toContain(secret.slice(0, 20))
})

test("a variable's value is shown only by the variable's name", () => {
  const text = edit(CONFIG, '"https://rpc.example"', `"\${RPC_URL}"`)
  const output = allOutput(text, { env: { RPC_URL: 'wss://rpc.example/topsecretkey' } })
  expect(output).toContain(`\${RPC_URL}`)
  expect(output).not.toContain('topsecretkey')
})

test('an access key within a written address is masked', () => {
  const text = edit(CONFIG, '"https://rpc.example"', '"ws://rpc.example/v2/AbCdEfGhIjKlMnOpQrSt"')
  expect(allOutput(text)).not.toContain('AbCdEfGh')
})

test('a private key in a strategy file is rejected too', () => {
  const loaded = loadTexts({ 'a.yaml': edit(STRATEGY, 'name: weekly-eth', `name: ${KEY}`) })
  expect(loaded).toMatchObject({ problems: [{ path: 'name', line: 1, column: 7 }] })
  expect(JSON.stringify(loaded)).not.toContain(KEY.slice(4))
})
