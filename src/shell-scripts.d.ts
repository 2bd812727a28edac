/** A shell script, as its text: bundlers are told to load it so. */
declare module "*.sh" {
  const text: string;
  export default text;
}
