import { expect, test } from 'vitest'
import { brief, CONFIG, plain, problemsOf, settingsOf } from './config-fixture.ts'

const SECRET = 'CANARY-canary_CANARY-canary_CANARYc'
const TOKEN = `987654321:${SECRET}`
const ENV = { env: { BOT: TOKEN } }

function withTelegram(yaml: string): string {
  return `${CONFIG}control: { telegram: ${yaml} }\n`
}

test('remote control is off by default', () => {
  expect(settingsOf().control).toEqual({ telegram: undefined })
  expect(settingsOf(`${CONFIG}control: {}\n`).control).toEqual({ telegram: undefined })
})

test('a bot has a token, users and defaults', () => {
  const text = withTelegram(`{ token: "\${BOT}", chats: [4711, 7008301234] }`)
  expect(settingsOf(text, ENV).control.telegram).toEqual({
    token: TOKEN,
    chats: [4_711, 7_008_301_234],
    resume: true,
    apiRoot: 'https://api.telegram.org',
  })
  const restricted = withTelegram(
    `{ token: "\${BOT}", chats: [1], resume: false, apiRoot: "http://127.0.0.1:8081" }`,
  )
  expect(settingsOf(restricted, ENV).control.telegram).toMatchObject({
    resume: false,
    apiRoot: 'http://127.0.0.1:8081',
  })
})

test.each([
  ['a group, where others can write', '[-1001234]', /chats\[0\]: this is a group or a channel/],
  ['a name', '["@alice"]', /chats\[0\]: this is not a chat id/],
  ['no user', '[]', /chats: /],
  ['zero', '[0]', /chats\[0\]: this is not a chat id/],
  ['a fraction', '[1.5]', /chats\[0\]: this is not a chat id/],
  ['a number above all chat ids', '[9999999999999999]', /chats\[0\]: this number is out of range/],
  ['too many', `[${Array.from({ length: 21 }, (_, i) => i + 1).join(', ')}]`, /chats: /],
  ['a single value', '4711', /chats: /],
])('%s is rejected', (_, chats, problem) => {
  const problems = problemsOf(withTelegram(`{ token: "\${BOT}", chats: ${chats} }`), ENV)
  expect(problems.map(brief).join('\n')).toMatch(problem)
})

test('unknown keys are rejected', () => {
  const text = withTelegram(`{ token: "\${BOT}", chats: [1], trigger: true }`)
  expect(problemsOf(text, ENV).map(brief).join()).toMatch(/control\.telegram\.trigger: unknown key/)
})

test('a token must come from a variable, like every credential', () => {
  const [problem, ...others] = problemsOf(withTelegram(`{ token: "${TOKEN}", chats: [1] }`))
  expect(others).toEqual([])
  expect(brief(problem as never)).toMatch(
    /control\.telegram\.token: this gives access to the bot, and must not stand in the file/,
  )
  expect(plain(problem as never)).not.toContain(SECRET)
})

test.each([
  ['written in the file', withTelegram(`{ token: "${TOKEN}", chats: [-1], colour: red }`)],
  ['malformed', withTelegram(`{ token: "${TOKEN}/x", chats: [1] }`)],
  ['from a variable', withTelegram(`{ token: "x\${BOT}", chats: [-1] }`)],
])('a token that is %s appears in no problem', (_, text) => {
  const problems = problemsOf(text, ENV)
  expect(problems).not.toEqual([])
  expect(problems.map(plain).join('\n') + JSON.stringify(problems)).not.toContain(SECRET)
})

test('plain http to another machine is rejected in live mode', () => {
  const text = withTelegram(`{ token: "\${BOT}", chats: [1], apiRoot: "http://bots.example" }`)
  const live = text.replace('mode: dry-run', 'mode: live')
  expect(problemsOf(live, ENV).map(({ path }) => path)).toEqual(['control.telegram.apiRoot'])
})
