import { KEY_SHAPED } from '../../domain/text/outside-text.ts'

/** The form that BotFather issues: the bot's number and a secret. */
const BOT_TOKEN = /\b\d{5,20}:[\w-]{25,}/g
/** `token` counts only as a key: prose about tokens may also contain a colon. */
const SECRET_NAMES =
  /\b((?:\w*(?:private_?key|password|passphrase|mnemonic|secret|seed|api_?key)|(?<=(?:^|\n)[ \t"'-]*|[{,][ \t]*["']?)token)["']?[ \t]*:[ \t]*)([|>][^\n]*(?:\n[ \t]+[^\n]*|\n[ \t]*(?=\n))*|"[^"\n]*"?|'[^'\n]*'?|[^\n,}]+)/gi
const WEB_ADDRESS = /[a-z][a-z0-9+.-]{0,19}:\/\/[^\s"'#]+/gi
const USER_INFO = /(?<=:\/\/)[^/@]+(?=@)/
/** Parts of a URL: a variable (kept, because it is only a name), a query value, or a long word. */
const ADDRESS_PARTS = /\$\{[^}]*\}|(?<==)[^&\s]+|[\w-]{16,}/g
const PRIVATE_KEY = /^(?:0x)?[0-9a-fA-F]{64}$/

/**
 * Masks everything that may be a secret: possible keys, bot tokens, values of secret-sounding keys, and credentials in URLs.
 * Length and line breaks stay, so that carets still point at the right place.
 */
export function maskSecrets(text: string): string {
  return text
    .replace(SECRET_NAMES, (_, key: string, value: string) => key + stars(value))
    .replace(WEB_ADDRESS, maskAddress)
    .replace(KEY_SHAPED, stars)
    .replace(BOT_TOKEN, stars)
}

/** True for a text that is only a private key. */
export function isPrivateKey(text: string): boolean {
  return PRIVATE_KEY.test(text.trim())
}

function maskAddress(address: string): string {
  const open = address.replace(USER_INFO, stars)
  const pathStart = open.indexOf('/', open.indexOf('://') + 3)
  if (pathStart < 0) return open
  const parts = open
    .slice(pathStart)
    .replace(ADDRESS_PARTS, (part) => (part.startsWith('${') ? part : stars(part)))
  return open.slice(0, pathStart) + parts
}

function stars(text: string): string {
  return text.replace(/[^\r\n]/g, '*')
}
