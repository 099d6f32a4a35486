import { expect, test } from 'vitest'
import { readCommand } from '../../../../../src/control/telegram/commands/commands.ts'

test.each([
  ['/status', { tag: 'status' }],
  ['/help', { tag: 'help' }],
  ['/daily', { tag: 'daily' }],
  ['/balance', { tag: 'balance' }],
  ['/profit', { tag: 'profit' }],
  ['/fills', { tag: 'fills', count: 5 }],
  ['/fills 20', { tag: 'fills', count: 20 }],
  ['/start', { tag: 'help' }],
  ['/halt', { tag: 'halt' }],
  ['/pause', { tag: 'pause', strategy: undefined }],
  ['/pause weekly-eth', { tag: 'pause', strategy: 'weekly-eth' }],
  ['/resume', { tag: 'resume', strategy: undefined }],
  ['/resume weekly-eth', { tag: 'resume', strategy: 'weekly-eth' }],
  ['/why weekly-eth:1767603600', { tag: 'why', slot: 'weekly-eth:1767603600' }],
  ['/why weekly-eth:1767603600:0', { tag: 'why', slot: 'weekly-eth:1767603600:0' }],
  ['482193', { tag: 'code', code: '482193' }],
])('%s is parsed', (text, command) => {
  expect(readCommand(text)).toEqual(command)
})

test.each([
  [
    'a capital letter and spaces',
    '  /Pause  Weekly-ETH \n',
    { tag: 'pause', strategy: 'weekly-eth' },
  ],
  ['a dash for a hyphen', '/pause weekly\u2013eth', { tag: 'pause', strategy: 'weekly-eth' }],
  ['the name of the bot', '/status@my_trading_bot', { tag: 'status' }],
])('%s makes no difference', (_, text, command) => {
  expect(readCommand(text)).toEqual(command)
})

test.each(['/halt now', '/HALT please', '/halt weekly-eth', `/halt ${'x '.repeat(90)}`])(
  'a halt ignores further words: %s',
  (text) => {
    expect(readCommand(text)).toEqual({ tag: 'halt' })
  },
)

test.each([
  '',
  'halt',
  'resume',
  '/',
  '/trigger weekly-eth',
  '/reload',
  '/settle weekly-eth:1:0 dead',
  '/config',
  '/resumeall',
  '/pause weekly-eth dip',
  '/pause ../../etc',
  '/pause *',
  '/resume weekly-eth 482193',
  '/why',
  '/why weekly-eth',
  '48219',
  '482193 482194',
  '４８２１９３',
  '__proto__',
  '/__proto__',
  '/constructor',
])('%j is an unknown command', (text) => {
  expect(readCommand(text).tag).toBe('unknown')
})

test.each(['/fills 0', '/fills 21', '/fills 5 5', '/fills many', '/fills -3'])(
  '%s names the numbers that it takes',
  (text) => {
    expect(readCommand(text)).toMatchObject({
      tag: 'unknown',
      hint: expect.stringContaining('1 to 20'),
    })
  },
)
