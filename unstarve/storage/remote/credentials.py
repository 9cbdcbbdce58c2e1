"""Prints credentials for object stores as a line of JSON, by the providers' own packages.

credential_helper.cpp contains this text and runs it with the argument s3, gs or az. Keys of the line:

    key, secret, token    an AWS key            expires      Unix time, if they expire
    bearer                an OAuth 2 token      region, endpoint_url, addressing_style
    query                 an Azure SAS          unsigned     the reason if there are no credentials
    error                 the reason if there are credentials, but they cannot be obtained
"""

import datetime
import json
import os
import sys

PACKAGES = {"s3": "botocore", "gs": "google-auth and requests", "az": "azure-identity and azure-storage-blob"}


def s3():
    import botocore.session

    if "AWS_REGION" in os.environ:  # as in AWS's other SDKs
        os.environ["AWS_DEFAULT_REGION"] = os.environ["AWS_REGION"]
    session = botocore.session.Session()
    profile = session.get_scoped_config()
    service = session.full_config.get("services", {}).get(profile.get("services"), {}).get("s3", {})
    found = {"region": session.get_config_variable("region"),
             "endpoint_url": service.get("endpoint_url") or profile.get("endpoint_url"),
             "addressing_style": (profile.get("s3") or {}).get("addressing_style")}
    credentials = session.get_credentials()
    if credentials is None:
        return found | {"unsigned": "no credentials in the environment, profile, container or instance. Set "
                                     "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE"}
    frozen = credentials.get_frozen_credentials()
    expires = getattr(credentials, "_expiry_time", None)  # as `aws configure export-credentials` does
    return found | {"key": frozen.access_key, "secret": frozen.secret_key, "token": frozen.token,
                    "expires": expires and expires.timestamp()}


def gs():
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.auth.transport.requests import Request

    try:
        credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/devstorage.read_only"])
    except DefaultCredentialsError as error:
        if "GOOGLE_APPLICATION_CREDENTIALS" in os.environ:
            raise
        return {"unsigned": str(error)}
    credentials.refresh(Request())
    expires = credentials.expiry and credentials.expiry.replace(tzinfo=datetime.timezone.utc).timestamp()
    return {"bearer": credentials.token, "expires": expires}


def az():
    from azure.core.exceptions import ClientAuthenticationError
    from azure.identity import DefaultAzureCredential
    from azure.storage.blob import AccountSasPermissions, BlobServiceClient, ResourceTypes, generate_account_sas

    account, key = os.environ.get("AZURE_STORAGE_ACCOUNT"), os.environ.get("AZURE_STORAGE_KEY")
    found = {}
    if text := os.environ.get("AZURE_STORAGE_CONNECTION_STRING"):
        client = BlobServiceClient.from_connection_string(text)
        account, key = client.account_name, getattr(client.credential, "account_key", None)
        found["endpoint_url"], _, query = client.url.partition("?")
        if query:
            return found | {"query": query}
    if key:
        expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)
        query = generate_account_sas(account, key, ResourceTypes(container=True, object=True),
                                     AccountSasPermissions(read=True, list=True), expires)
        return found | {"query": query, "expires": expires.timestamp()}
    try:
        token = DefaultAzureCredential().get_token("https://storage.azure.com/.default")
    except ClientAuthenticationError as error:
        return found | {"unsigned": str(error)}
    return found | {"bearer": token.token, "expires": token.expires_on}


def main(store):
    try:
        answer = {"s3": s3, "gs": gs, "az": az}[store]()
    except ImportError as error:
        answer = {"unsigned": f"{sys.executable} has no {error.name}; expected {PACKAGES[store]}. "
                              f"Run: pip install 'unstarve[{store}]'   (in a source tree: make setup)"}
    except Exception as error:  # whatever the packages report is the reason
        answer = {"error": f"{type(error).__name__}: {error}"}
    for name in answer.keys() & {"unsigned", "error"}:
        answer[name] = " ".join(answer[name].split())  # some have several lines
    if answer.get("expires"):
        answer["expires"] = int(answer["expires"])
    print("\n" + json.dumps({name: value for name, value in answer.items() if value is not None}))


sys.path[:] = [folder for folder in sys.path if folder]  # not the current folder
main(sys.argv[1])
