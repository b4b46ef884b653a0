#!/bin/sh
# Makes the certificates the tests use: valid for a hundred years, except the ones whose point is that they are not.
# Needs openssl. Run it in this folder only when a certificate has to change; the results are committed.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/index.txt"
cat > "$work/ca.conf" <<CONF
[ca]
default_ca = tests
[tests]
database = $work/index.txt
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
CONF

new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }

new_key ca
openssl req -x509 -new -key ca.key -subj '/CN=Posthorn test authority' -days 36500 -out ca.pem \
  -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign'

# issue NAME SUBJECT_ALT_NAMES START END
issue() {
  new_key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1.example" -addext "subjectAltName=$2" -out "$work/$1.csr"
  openssl ca -batch -notext -config "$work/ca.conf" -cert ca.pem -keyfile ca.key -in "$work/$1.csr" \
    -startdate "$3" -enddate "$4" -out "$1.pem"
}
issue endpoint 'DNS:endpoint.example,DNS:localhost,IP:127.0.0.1' 20200101000000Z 21200101000000Z
issue other 'DNS:other.example' 20200101000000Z 21200101000000Z
issue expired 'DNS:endpoint.example,DNS:localhost' 20200101000000Z 20210101000000Z
issue client 'DNS:client.example' 20200101000000Z 21200101000000Z
issue expired-client 'DNS:client.example' 20200101000000Z 20210101000000Z
rm ca.key
